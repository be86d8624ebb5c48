#include "actors/api/jobs/job_source.hpp"

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/config/byte_size.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::api {

Result<JobSource> take_source(BodyFields& fields, std::uint64_t max_bytes) {
  const auto* given = fields.object("Submission");
  NOMAD_TRY(fields.check());
  if (given == nullptr) return JobSource{};
  BodyFields inner{*given, "JobSubmission"};
  Draft<schema::JobSubmission> draft;
  const auto source = inner.text("Source");
  const auto variables = inner.text("Variables");
  draft->setSource(source);
  draft->setFormat(inner.text("Format"));
  draft->setVariables(variables);
  std::uint64_t bytes = source.size() + variables.size();
  if (const auto* flags = inner.object("VariableFlags")) {
    BodyFields values{*flags, "JobSubmission.VariableFlags"};
    const auto sorted = values.texts();
    NOMAD_TRY(values.check());
    for (const auto& [key, value] : sorted)
      bytes += key.size() + value.size();
    fill_entries(draft->initVariableFlags(static_cast<unsigned>(sorted.size())), sorted);
  }
  NOMAD_TRY(inner.check());
  if (bytes > max_bytes)
    return JobSource{
        .warning = fmt::format("job source size of {} exceeds maximum of {} and will be discarded",
                               config::show_byte_size(bytes), config::show_byte_size(max_bytes))};
  return JobSource{.submission = draft.freeze()};
}

void keep_source(const server::Writer& writer,
                 const server::Written<cluster::Decision>& done,
                 const JobSource& source,
                 std::string_view ns,
                 const Turns& turns,
                 std::function<void(const std::string& warning)> then) {
  const auto answer = turns.callback(std::move(then));
  const bool is_new = done.outcome && done.outcome->job_modify_index != 0;
  if (!source.submission || !is_new) return answer(source.warning);
  Draft<schema::Command> draft;
  draft->setJobSubmission(*source.submission);
  auto submission = draft->getJobSubmission();
  submission.setNamespace(std::string{ns});
  submission.setJobId(done.decision.job_id);
  submission.setJobModifyIndex(done.outcome->job_modify_index);
  writer.propose(done.decision.allowed, draft.freeze(), Turns::here(),
                 [answer, id = done.decision.job_id](const Result<server::Committed>& written) {
                   if (written) return answer(std::string{});
                   log::warn("job", "the source of a job is not kept",
                             {{"job", id}, {"error", written.error()}});
                   answer("the job's source is not kept: " + written.error().what);
                 });
}

}  // namespace nomad::api

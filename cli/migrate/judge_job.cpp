// Jobs: what the server would say of them when they are registered, and what it would not.
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/migrate/judge.hpp"
#include "runtime/base/text.hpp"
#include "runtime/config/keys.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/validate/validate.hpp"

namespace nomad::cli::migrate {
namespace {

using jobspec::BlockType;
using jobspec::Field;
using jobspec::Kind;
using jobspec::Support;

/// What registration is silent about: fields that are not known, and those that work partly. Each
/// is told once, however many blocks have it.
class SilentFields {
public:
  explicit SilentFields(std::vector<Remark>& remarks) : remarks_{remarks} {}

  void visit(const boost::json::object& block, const BlockType& type, const std::string& path) {
    for (const auto& member : block) {
      const std::string name{member.key()};
      if (says_nothing(member.value())) continue;
      if (const Field* field = type.find(name))
        visit_field(member.value(), *field, path);
      else
        tell(Verdict::warning, fmt::format("{}{} is not known here, and is ignored", path, name));
    }
  }

private:
  void visit_field(const boost::json::value& value, const Field& field, const std::string& path) {
    if (field.support == Support::refused || field.support == Support::unheeded) return;
    // Of the note of services' providers the first word is what is here.
    const bool is_here = value.is_string() && field.note.starts_with(quote(value.get_string()));
    if (field.support == Support::partly && !is_here)
      tell(Verdict::partly, fmt::format("{}{}: {}", path, field.hcl, field.note));
    if (field.block == nullptr) return;
    const auto inner = fmt::format("{}{} > ", path, field.hcl);
    const auto enter = [&](const boost::json::value& one) {
      if (one.is_object()) visit(one.get_object(), *field.block, inner);
    };
    if (field.kind == Kind::block) return enter(value);
    if (value.is_array())
      for (const auto& one : value.get_array())
        enter(one);
    if (field.kind == Kind::block_map && value.is_object())
      for (const auto& one : value.get_object())
        enter(one.value());
  }

  void tell(Verdict verdict, std::string text) {
    if (told_.insert(text).second) remarks_.push_back({verdict, std::move(text)});
  }

  std::vector<Remark>& remarks_;
  std::set<std::string> told_;
};

/// Drivers that a plugin has to bring. The configuration's table knows those that are built in.
void tell_drivers(const boost::json::value& job, std::vector<Remark>& remarks) {
  const auto built_in = config::names_in("plugin");
  std::set<std::string> others;
  for (const auto& group : View{job}["TaskGroups"].items())
    for (const auto& task : group["Tasks"].items())
      if (auto driver = task["Driver"].text();
          std::ranges::find(built_in, driver) == built_in.end())
        others.insert(std::move(driver));
  for (const auto& driver : others)
    remarks.push_back({Verdict::warning,
                       fmt::format("driver {} is not built in: nodes need a plugin that brings it",
                                   quote(driver))});
}

}  // namespace

std::vector<Remark> judge_job(const boost::json::value& job, const Surroundings& at) {
  if (!job.is_object()) return {{Verdict::error, "it is no JSON object"}};
  auto draft = jobspec::JobDraft::decode(job.get_object());
  if (!draft) return {{Verdict::error, draft.error().what}};
  jobspec::admit(draft->job());
  const auto validation
      = jobspec::validate(draft->job(), {.memory_oversubscription = at.memory_oversubscription,
                                         .job_types = std::nullopt,
                                         .providers = std::nullopt});
  std::vector<Remark> remarks;
  for (const auto& error : validation.errors)
    remarks.push_back({Verdict::error, error});
  for (const auto& warning : validation.warnings)
    remarks.push_back({Verdict::warning, warning});
  tell_drivers(job, remarks);
  SilentFields{remarks}.visit(job.get_object(), jobspec::block_types().job, "");
  return remarks;
}

}  // namespace nomad::cli::migrate

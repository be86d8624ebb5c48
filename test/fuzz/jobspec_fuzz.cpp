// Job files: any text gives a job or a mistake; a job can be completed, made canonical (twice is
// once), validated, and compared with itself.
#include <boost/json.hpp>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "test/fuzz/hcl_input.hpp"

namespace {

using namespace nomad::jobspec;

void check_job(const boost::json::object& job) {
  auto draft = JobDraft::decode(job);
  if (!draft) return;  // a port that is no number of 32 bits
  canonicalize(draft->job());
  const auto canonical = tree_of(draft->job(), block_types().job);
  canonicalize(draft->job());
  fuzz::require(tree_of(draft->job(), block_types().job) == canonical,
                "a canonical job stays as it is");

  admit(draft->job());
  const auto stored = tree_of(draft->job(), block_types().job);
  const Validation rules = validate(draft->job());
  const auto frozen = draft->freeze();
  fuzz::require(nomad::Object<nomad::schema::Job>::check(frozen.bytes()).has_value(),
                "a stored job can be read");
  fuzz::require(rules.ok() == rules.error_text().empty(), "a refusal has a text");
  const auto same = diff(&stored, &stored, true);
  fuzz::require(same && same->at("Type") == "None", "a job does not differ from itself");
  fuzz::require(!diff(nullptr, &stored, true).has_error(), "a new job differs from none");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ParseOptions options;
  options.var_content = "n = 3";
  const ParsedJob parsed = parse_job("f", fuzz::text_of(data, size), options);
  fuzz::require(parsed.ok() == !nomad::hcl::has_errors(parsed.diagnostics),
                "an error has a diagnostic");
  if (parsed.ok()) check_job(parsed.job);
  return 0;
}

// Job files: any text gives a job or a mistake; a job can be completed, made canonical (twice is
// once), validated, and compared with itself.
#include <boost/json.hpp>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "test/fuzz/hcl_input.hpp"

namespace {

using namespace nomad::jobspec;

void check_job(const boost::json::object& job) {
  boost::json::object canonical = job;
  canonicalize(canonical);
  boost::json::object again = canonical;
  canonicalize(again);
  fuzz::require(again == canonical, "a canonical job stays as it is");

  boost::json::object stored = job;
  fuzz::require(!match_names(stored).has_error(), "a parsed job has the right fields");
  admit(stored);
  const Validation rules = validate(stored);
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

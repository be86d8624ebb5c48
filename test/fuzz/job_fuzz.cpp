// A job in JSON on its way through a server: read, admitted, validated, decided, applied, and shown
// by every renderer, twice, so that the second registration is an update. Whatever the text, it
// ends in a job or an error, and in memory that the size of the text bounds.
#include <boost/json.hpp>

#include "runtime/cluster/job_commands.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/flat_json.hpp"
#include "test/fuzz/stored_state.hpp"
#include "test/support/anybody.hpp"

namespace {

using namespace nomad;

/// An element "null" of a list is a block with its defaults: 143 bytes for each of the text are the
/// most that is known.
constexpr std::size_t bytes_per_byte = 512;
constexpr std::size_t bytes_of_any_job = std::size_t{64} << 10U;

struct Server {
  state::Store store;
  state::Index index = 1;
  Random random{1};

  /// Registers the job, and shows what came of it.
  void add(const Object<schema::Job>& job, std::size_t bound) {
    const auto decided
        = cluster::decide_register(store.snapshot(), nomad::test::anybody(), {.job = job},
                                   {.now = 1'700'000'000, .random = &random});
    if (!decided || !decided->command) return;
    static_cast<void>(store.apply(++index, *decided->command));
    store.publish();
    const auto snapshot = store.snapshot();
    fuzz::require(fuzz::render_all(snapshot) <= 8 * bound, "what is shown is bounded");
    fuzz::check_restore(snapshot);
  }
};

void check_diff(const boost::json::object& job) {
  const auto same = jobspec::diff(&job, &job, true);
  fuzz::require(same && same->at("Type") == "None", "a job does not differ from itself");
  fuzz::require(jobspec::diff(nullptr, &job, true).has_value(), "a new job differs from none");
}

/// The server's form of a job; empty when it is refused.
Object<schema::Job> admitted(jobspec::JobDraft& draft) {
  jobspec::admit(draft.job());
  jobspec::Validation rules = jobspec::validate(draft.job(), {.allow_refused = true});
  fuzz::require(rules.ok() == rules.error_text().empty(), "a refusal has a text");
  static_cast<void>(rules.warning_text());
  check_diff(jobspec::tree_of(draft.job(), jobspec::block_types().job));
  return rules.ok() ? draft.freeze() : Object<schema::Job>{};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const std::size_t bound = bytes_of_any_job + size * bytes_per_byte;
  const auto json = FlatJson::read(text);
  if (!json || !json->root().is(JsonKind::object)) return 0;
  auto draft = jobspec::JobDraft::decode(json->root());
  if (!draft) return 0;
  const auto job = admitted(*draft);
  fuzz::require(draft->freeze().size_in_bytes() <= bound,
                "a job is no larger than its text lets it");
  if (!job) return 0;
  Server server;
  server.add(job, bound);
  draft->job().set("Priority", std::int64_t{51});
  server.add(draft->freeze(), bound);
  return 0;
}

#include "runtime/cluster/eval_deletion.hpp"

#include <map>
#include <set>

#include "runtime/object/draft.hpp"
#include "runtime/query/filter.hpp"
#include "runtime/state/eval_rules.hpp"

namespace nomad::cluster {
namespace {

template <class List, class Texts>
void fill_texts(List list, const Texts& texts) {
  unsigned at = 0;
  for (const auto& one : texts)
    list.set(at++, text(one));
}

capnp::Data::Reader key_bytes(std::string_view key) {
  return {reinterpret_cast<const kj::byte*>(key.data()), key.size()};
}

/// What the filter may take in one entry, which all servers apply while nothing else is: some
/// tenths of a second. Those who apply know no bound, so that all find the same.
constexpr std::uint64_t batch_work = std::uint64_t{1} << 28U;

/// The entry in the making: a range of keys that begins before its first match and ends with its
/// last.
struct Batch {
  std::string after;
  std::string through;
  std::set<std::string, std::less<>> namespaces;  ///< Of the matches.
  std::size_t matches = 0;
  std::size_t looked_at = 0;  ///< From the first match on.

  Object<schema::Command> command(std::string_view filter) const {
    Draft<schema::Command> draft;
    auto deletion = draft->initEvalDelete();
    deletion.setFilter(text(filter));
    deletion.setAfter(key_bytes(after));
    deletion.setThrough(key_bytes(through));
    deletion.setLimit(static_cast<std::uint32_t>(most_deleted_evals));
    fill_texts(deletion.initNamespaces(static_cast<unsigned>(namespaces.size())), namespaces);
    return draft.freeze();
  }
};

}  // namespace

Result<Decision> decide_delete_evals(const state::Snapshot& snapshot,
                                     const access::Asking& asking,
                                     const std::vector<std::string>& eval_ids) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto state = snapshot.unguarded();  // All of it is judged once more by the log.
  NOMAD_TRY(state::check_broker_is_paused(state.tables()));
  state::EvalDeletionJudge judge{state.tables()};
  for (const auto& id : eval_ids) {
    const auto eval = state.eval(id);
    if (!eval) return Error{Errc::not_found, "eval not found"};
    NOMAD_TRY(access::authorize(asking, {view(eval->getNamespace())}));
    if (!judge.is_safe(*eval)) return state::not_safe_to_delete(id);
  }
  Draft<schema::Command> draft;
  fill_texts(draft->initEvalDelete().initEvaluationIds(static_cast<unsigned>(eval_ids.size())),
             eval_ids);
  return Decision{allowed, draft.freeze()};
}

Result<Decisions> decide_delete_by_filter(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view filter_text) {
  Decisions deletion{NOMAD_TRY(access::authorize(asking, {}))};
  const auto filter
      = NOMAD_TRY(query::Filter::compile(filter_text).within("failed to read filter expression"));
  NOMAD_TRY(state::check_broker_is_paused(snapshot.tables()));
  std::map<std::string, bool, std::less<>> verdicts;  // of namespaces
  const auto is_allowed = [&](std::string_view ns) {
    const auto known = verdicts.find(ns);
    if (known != verdicts.end()) return known->second;
    return verdicts.emplace(ns, access::authorize(asking, {ns}).has_value()).first->second;
  };
  Batch batch;
  Work work{0};
  std::string last;  // the key before
  state::EvalDeletionJudge judge{snapshot.tables()};
  const auto finish = [&] {
    if (batch.matches > 0) deletion.commands.push_back(batch.command(filter_text));
    batch = {};
  };
  for (const auto& entry : snapshot.evals_by_job()) {
    const auto eval = *entry.value();
    const auto ns = view(eval.getNamespace());
    if (batch.matches == 0 || work.used() > batch_work) {
      finish();
      work = Work{batch_work + query::Filter::row_work};
    }
    if (is_allowed(ns) && NOMAD_TRY(judge.takes(filter, eval, work))) {
      if (batch.matches++ == 0) batch.after = last;
      batch.through = entry.key();
      if (!batch.namespaces.contains(ns)) batch.namespaces.emplace(ns);
    }
    if (batch.matches > 0) ++batch.looked_at;
    if (batch.matches == most_deleted_evals || batch.looked_at >= most_looked_at_evals) finish();
    last.assign(entry.key());
  }
  finish();
  return deletion;
}

}  // namespace nomad::cluster

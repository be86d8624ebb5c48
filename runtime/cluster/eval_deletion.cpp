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

/// The entry in the making: a range of ids that begins before its first match and ends with its
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
    deletion.setAfter(text(after));
    deletion.setThrough(text(through));
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
  NOMAD_TRY(state::check_broker_is_paused(snapshot.tables()));
  for (const auto& id : eval_ids) {
    const auto eval = snapshot.eval(id);
    if (!eval) return Error{Errc::not_found, "eval not found"};
    NOMAD_TRY(access::authorize(asking, {view(eval->getNamespace())}));
    if (!state::is_safe_to_delete(snapshot.tables(), *eval)) return state::not_safe_to_delete(id);
  }
  Draft<schema::Command> draft;
  fill_texts(draft->initEvalDelete().initEvaluationIds(static_cast<unsigned>(eval_ids.size())),
             eval_ids);
  return Decision{allowed, draft.freeze()};
}

Result<EvalDeletion> decide_delete_by_filter(const state::Snapshot& snapshot,
                                             const access::Asking& asking,
                                             std::string_view filter_text) {
  EvalDeletion deletion{NOMAD_TRY(access::authorize(asking, {}))};
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
  std::string last;  // the id before
  const auto finish = [&] {
    if (batch.matches > 0) deletion.commands.push_back(batch.command(filter_text));
    batch = {};
  };
  for (const auto& entry : snapshot.evals()) {
    const auto eval = *entry.value();
    const auto ns = view(eval.getNamespace());
    if (is_allowed(ns) && state::is_to_be_deleted(snapshot.tables(), filter, eval)) {
      if (batch.matches++ == 0) batch.after = last;
      batch.through = copy(eval.getId());
      if (!batch.namespaces.contains(ns)) batch.namespaces.emplace(ns);
    }
    if (batch.matches > 0) ++batch.looked_at;
    if (batch.matches == most_deleted_evals || batch.looked_at >= most_looked_at_evals) finish();
    last.assign(view(eval.getId()));
  }
  finish();
  return deletion;
}

}  // namespace nomad::cluster

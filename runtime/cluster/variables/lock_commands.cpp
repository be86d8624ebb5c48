#include "runtime/cluster/variables/lock_commands.hpp"

#include "runtime/base/text.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

Error bad_lock(std::string what) {
  return {Errc::rejected, std::move(what)};
}

}  // namespace

Result<> check_lock(std::string_view id,
                    std::chrono::nanoseconds ttl,
                    std::chrono::nanoseconds delay) {
  using namespace std::chrono_literals;
  if (id.size() > longest_lock_id)
    return bad_lock("a lock's ID has at most " + std::to_string(longest_lock_id) + " bytes");
  if (ttl < 0ns || delay < 0ns) return bad_lock("Lock delay and TTL must be positive");
  if (ttl < shortest_lock_ttl || ttl > longest_lock_ttl)
    return bad_lock("TTL must be between 10 seconds and 24 hours");
  if (delay > longest_lock_ttl) return bad_lock("Lock delay must not be more than 24 hours");
  return {};
}

Result<> check_locked_variable(std::string_view ns, std::string_view path, std::size_t item_bytes) {
  return check_variable(ns, path, 1, item_bytes);
}

Result<SealedDecision> decide_lock_variable(const state::Snapshot& snapshot,
                                            const access::Asking& asking,
                                            std::string_view region,
                                            const Object<schema::Variable>& variable,
                                            bool keep_data) {
  const auto put = NOMAD_TRY(decide_set_variable(snapshot, asking, region, variable, {}));
  Draft<schema::Command> draft;
  auto locking = draft->initVariableLocking();
  locking.setVariable(*variable);
  locking.setKeepData(keep_data);
  locking.setRegion(text(std::string{region}));
  return SealedDecision{put.allowed, draft.freeze()};
}

Result<SealedDecision> decide_release_lock(const access::Asking& asking,
                                           std::string_view ns,
                                           std::string_view path,
                                           std::string_view id,
                                           std::int64_t now) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns, path}));
  return SealedDecision{allowed, release_lock(ns, path, id, now)};
}

Result<> check_renewal(const state::Snapshot& snapshot,
                       const access::Asking& asking,
                       std::string_view ns,
                       std::string_view path,
                       std::string_view id) {
  NOMAD_TRY(access::authorize(asking, {ns, path}));
  const auto variable = snapshot.variable(ns, path);
  if (!variable) return Error{Errc::not_found, "variable doesn't exist"};
  if (!variable->hasLock()) return Error{Errc::conflict, "variable doesn't hold a lock"};
  if (view(variable->getLock().getId()) != id)
    return Error{Errc::conflict, "attempting to modify locked variable"};
  return {};
}

Object<schema::Command> release_lock(std::string_view ns,
                                     std::string_view path,
                                     std::string_view id,
                                     std::int64_t now,
                                     std::uint64_t index) {
  Draft<schema::Command> draft;
  auto locking = draft->initVariableLocking();
  locking.setRelease(true);
  auto variable = locking.initVariable();
  variable.setNamespace(text(std::string{ns}));
  variable.setPath(text(std::string{path}));
  variable.setModifyTime(now);
  variable.setModifyIndex(index);
  variable.initLock().setId(text(std::string{id}));
  return draft.freeze();
}

}  // namespace nomad::cluster

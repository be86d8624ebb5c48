#include "actors/api/cluster/variable_lock.hpp"

#include "actors/api/cluster/root_key_wait.hpp"
#include "actors/api/cluster/variable_answers.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/secret_answer.hpp"
#include "actors/api/http/write.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/cluster/variables/lock_commands.hpp"

namespace nomad::api {
namespace {

using server::SealedWritten;

/// A lock that is about to be taken.
struct PendingLock {
  SharedCall call;
  std::shared_ptr<security::Keyring> keyring;
  std::string path;
  VariableBody body;
};

/// Metadata and the lock: what the variable holds is not asked for.
Answer locked_answer(schema::Variable::Reader variable) {
  JsonObject object;
  append_variable(object, variable, ShownLock::yes);
  return secret_answer(200, object.take());
}

Answer taken_answer(const PendingLock& pending, const SealedWritten& done) {
  if (done.conflict)
    return conflict_answer(*pending.call->context, *pending.keyring, pending.call->asking,
                           done.variable);
  if (pending.body.items == 0) return locked_answer(*done.variable).with_index(done.index);
  const auto items = security::decode_items(pending.body.encoded);
  if (!items) return Answer::error(items.error());
  return variable_answer(200, *done.variable, &*items, ShownLock::yes).with_index(done.index);
}

void take_lock(const std::shared_ptr<PendingLock>& pending, const Object<schema::RootKey>& key) {
  const auto& body = pending->body;
  const auto sealed
      = pending->keyring->seal_variable(key, body.ns, pending->path, body.encoded, unix_now());
  if (!sealed) return pending->call->fail(sealed.error().within("variable error: encrypt"));
  Draft<schema::Variable> draft{*sealed};
  auto lock = draft->initLock();
  lock.setId(text(body.lock->id));
  lock.setTtl(body.lock->ttl.count());
  lock.setLockDelay(body.lock->delay.count());
  const auto& context = pending->call->context;
  context->state.writer->write_raw(
      [asking = pending->call->asking, region = context->region, wanted = draft.freeze(),
       keep_data = body.items == 0](const state::Snapshot& state, const cluster::EvalSeed&) {
        return cluster::decide_lock_variable(state, asking, region, wanted, keep_data);
      },
      pending->call->turns(),
      [pending](const Result<raft::Applied>& applied) {
        const auto done = server::to_sealed(applied);
        pending->call->settle(done ? taken_answer(*pending, *done) : Outcome{done.error()});
      },
      deciding_anew(context));
}

Outcome acquire(Call& call, const VariableParts& parts, VariableBody body) {
  if (!body.lock) body.lock.emplace();
  auto& lock = *body.lock;
  if (lock.id.empty()) {
    auto random = Random::from_system();
    lock.id = make_uuid(random);
  }
  if (lock.ttl.count() == 0) lock.ttl = cluster::default_lock_ttl;
  if (lock.delay.count() == 0) lock.delay = cluster::default_lock_ttl;
  NOMAD_TRY(cluster::check_locked_variable(body.ns, call.rest, body.item_bytes));
  NOMAD_TRY(cluster::check_lock(lock.id, lock.ttl, lock.delay));
  auto pending = std::make_shared<PendingLock>();
  pending->keyring = parts.keyring;
  pending->path = call.rest;
  pending->body = std::move(body);
  pending->call = share(std::move(call));
  with_root_key(
      pending->call, [pending](const Object<schema::RootKey>& key) { take_lock(pending, key); },
      "variable error: encrypt");
  return later;
}

Outcome release(Call& call, const VariableParts& parts, const VariableBody& body) {
  if (!body.lock || body.lock->id.empty()) return bad_request("missing lock information");
  if (body.items != 0) return bad_request("lock release operation doesn't take variable items");
  const auto decision = NOMAD_TRY(
      cluster::decide_release_lock(call.asking, body.ns, call.rest, body.lock->id, unix_now()));
  return write_sealed(call, decision,
                      [context = call.context, keyring = parts.keyring,
                       asking = call.asking](const SealedWritten& done) {
                        return done.conflict
                                   ? conflict_answer(*context, *keyring, asking, done.variable)
                                   : locked_answer(*done.variable).with_index(done.index);
                      });
}

/// Nothing is written: only the leader knows when a lock was renewed last.
Outcome renew(Call& call, const VariableParts& parts, const VariableBody& body) {
  if (!body.lock || body.lock->id.empty()) return bad_request("missing lock ID");
  const auto snapshot = call.context->state.store->snapshot();
  NOMAD_TRY(cluster::check_renewal(snapshot, call.asking, body.ns, call.rest, body.lock->id));
  const auto variable = snapshot.variable(body.ns, call.rest);
  return ask<server::LockRenewed>(
      call, parts.locks, server::RenewLock{state::kind::Variables::key(*variable), body.lock->id},
      [variable](const server::LockRenewed&) {
        return locked_answer(*variable).with_index(variable->getModifyIndex());
      });
}

}  // namespace

Result<std::optional<LockOperation>> lock_operation(const net::Request& request) {
  std::optional<LockOperation> asked;
  for (const auto& [name, operation] : {std::pair{"lock-acquire", LockOperation::acquire},
                                        std::pair{"lock-renew", LockOperation::renew},
                                        std::pair{"lock-release", LockOperation::release}}) {
    if (request.parameter(name) == nullptr) continue;
    if (asked) return bad_request("multiple lock operations");
    asked = operation;
  }
  if (asked && !request.parameter_or_empty("cas").empty())
    return bad_request("CAS can't be used with lock operations");
  return asked;
}

Outcome change_lock(Call& call, const VariableParts& parts, LockOperation operation) {
  if (!call.context->state.writer || !parts.keyring || !parts.locks) return no_leader();
  auto body = NOMAD_TRY(read_variable(call.request()));
  if (body.ns.empty()) body.ns = write_namespace(call.request());
  NOMAD_TRY(authorize(call.asking, {body.ns, call.rest}));  // before anybody waits for a key
  if (operation == LockOperation::acquire) return acquire(call, parts, std::move(body));
  if (operation == LockOperation::renew) return renew(call, parts, body);
  return release(call, parts, body);
}

}  // namespace nomad::api

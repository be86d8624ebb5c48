#include "actors/server/keyring_rotator.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "actors/core/supervise.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;

constexpr auto write_timeout = 10s;

constexpr auto complaint_pause = 1min;

constexpr std::chrono::nanoseconds first_pause = 1s;
constexpr std::chrono::nanoseconds longest_pause = 1min;

/// A server that does not lead acts at every third look only: mostly the leader was there first.
constexpr unsigned patience_of_followers = 3;

struct LookAtKeys {
  using is_message = void;
};

using KeyringRotatorSelf = actor::WithInternal<LeaderDuty, void(LookAtKeys)>;

security::Keyring::Holders holders_of(const state::Snapshot& snapshot) {
  security::Keyring::Holders holders;
  for (const auto& entry : snapshot.rows<state::kind::KeyHolders>().all())
    holders.push_back(entry.value());
  return holders;
}

security::Keyring::Rows rows_of(const state::Snapshot& snapshot) {
  security::Keyring::Rows rows;
  for (const auto& entry : snapshot.rows<state::kind::RootKeys>().all())
    rows.push_back(entry.value());
  return rows;
}

/// Whether both say that the server can use the same wrapping keys.
bool opens_alike(schema::KeyHolder::Reader one, schema::KeyHolder::Reader other) {
  if (one.getOpens().size() != other.getOpens().size()) return false;
  for (unsigned i = 0; i < one.getOpens().size(); ++i)
    if (one.getOpens()[i] != other.getOpens()[i]) return false;
  return true;
}

Object<schema::RootKey> in_state(const Object<schema::RootKey>& key, schema::RootKeyState state) {
  Draft<schema::RootKey> draft{key};
  draft->setState(state);
  return draft.freeze();
}

/// What asks a wrapping key, and is tried again after a while if it fails.
struct Wrapping {
  using Time = std::chrono::steady_clock::time_point;

  bool is_due(Time now) const { return !is_under_way && now >= next; }

  void fail(Time now) {
    pause = std::min<std::chrono::nanoseconds>(pause * 2, longest_pause);
    next = now + pause;
  }

  bool is_under_way = false;
  std::chrono::nanoseconds pause = first_pause / 2;
  Time next = Time::min();
};

struct KeyringRotatorState {
  static constexpr const char* name = "keyring_rotator";

  using Self = KeyringRotatorSelf::stateful_pointer<KeyringRotatorState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::shared_ptr<security::Keyring> keyring;
  SealedLink servers;
  KeyringRotatorOptions options;
  Random random{0};
  bool leads = false;
  unsigned looks_as_follower = 0;
  /// When was warned of last, by what failed.
  std::map<std::string, std::chrono::steady_clock::time_point> told_at;
  Wrapping making;                           ///< Of a new key.
  std::map<std::string, Wrapping> wrapping;  ///< Of stored keys, by their ids.
  unsigned writing = 0;  ///< Commands without an answer; the next look waits for them.

  void write(const Object<schema::Command>& command,
             std::string what,
             std::function<void()> refused = {}) {
    ++writing;
    NOMAD_FAILPOINT("server.before_key_write");
    self->request(servers, write_timeout, WriteSealed{command})
        .then(
            [this](const SealedWritten&) {
              NOMAD_FAILPOINT("server.after_key_write");
              if (--writing == 0) look();  // the next thing to do may depend on what was written
            },
            [this, what = std::move(what), refused = std::move(refused)](const Error& err) {
              --writing;  // tried again at the next look
              if (refused) refused();
              complain(what, err.what, leads && err.code != Errc::conflict);
            });
  }

  /// What goes on failing is tried at each look, and said once a minute.
  void complain(const std::string& what, const std::string& why, bool is_worth_saying) {
    const auto now = self->now();
    const auto told = told_at.find(what);
    if (told != told_at.end() && now < told->second + complaint_pause) is_worth_saying = false;
    log::write(is_worth_saying ? log::Level::warn : log::Level::debug, "keyring",
               what + ": " + why);
    if (is_worth_saying) told_at[what] = now;
  }

  /// Sees to it that the state knows this server by the keys that it has. Whether it does.
  bool is_known(const state::Snapshot& snapshot) {
    const auto known = snapshot.key_holder(view(keyring->holder()->getId()));
    const bool is_tried = keyring->try_wrapping_keys(rows_of(snapshot), known);
    const auto own = keyring->holder(known);
    if (known && known->getPublicKey() == own->getPublicKey() && opens_alike(*known, *own))
      return true;
    // One that is registered too early gets wraps that it would not need.
    if (is_tried) write(cluster::put_key_holder(own), "registering this server's keys");
    return false;
  }

  void look() {
    if (writing != 0) return;
    if (!leads && looks_as_follower++ % patience_of_followers != 0) return;
    const auto snapshot = store->snapshot();
    if (!is_known(snapshot)) return;
    if (leads)
      serve(snapshot);
    else
      share_keys(snapshot);
  }

  /// Wraps the keys that this server can open for all who lack them. Not the leader's work alone:
  /// it may be one of those.
  void share_keys(const state::Snapshot& snapshot) {
    using security::Keyring;
    const auto holders = holders_of(snapshot);
    const auto others = leads ? Keyring::OtherSecrets::drop : Keyring::OtherSecrets::keep;
    std::erase_if(wrapping, [&](const auto& one) {
      const auto key = snapshot.root_key(one.first);
      return !key || !keyring->lacks_wrap(key);
    });
    for (const auto& key : rows_of(snapshot)) {
      if (keyring->opening(key) != security::Opening::yes) continue;
      if (leads && keyring->lacks_wrap(key) && wrapping[copy(key->getKeyId())].is_due(self->now()))
        keyring->rewrap(key, holders, others, when_wrapped(copy(key->getKeyId())));
      else if (const auto wrapped = keyring->rewrap(key, holders, others))
        write(cluster::change_root_key(wrapped), "wrapping a root key");
    }
  }

  /// Writes a changed row once its wrapping key has answered, which nothing else waits for.
  security::Keyring::Row when_wrapped(const std::string& id) {
    wrapping[id].is_under_way = true;
    return actor::turns_of(self).callback([this, id](const Result<Object<schema::RootKey>>& row) {
      auto& tried = wrapping[id];
      tried.is_under_way = false;
      if (!row) {
        tried.fail(self->now());
        complain("wrapping a root key", row.error().what, true);
      } else if (*row) {
        write(cluster::change_root_key(*row), "wrapping a root key",
              [this, id] { wrapping[id].fail(self->now()); });
      }
    });
  }

  /// With a time (Unix nanoseconds) it is active from then on.
  void make_key(const state::Snapshot& snapshot, std::int64_t publish_time, std::string what) {
    if (!making.is_due(self->now())) return;
    making.is_under_way = true;
    keyring->make_root_key(
        make_uuid(random), unix_now(), holders_of(snapshot), publish_time,
        actor::turns_of(self).callback(
            [this, what = std::move(what)](const Result<Object<schema::RootKey>>& made) {
              making.is_under_way = false;
              if (made)
                return write(cluster::put_root_key(*made, false), what,
                             [this] { making.fail(self->now()); });
              making.fail(self->now());
              complain(what, made.error().what, true);
            }));
  }

  void serve(const state::Snapshot& snapshot) {
    const auto duties = options.decide(snapshot, options.thresholds, unix_now());
    // After a restore of another cluster's snapshot nobody here may be able to open its key.
    const auto active = snapshot.active_root_key();
    if (duties.make_key || keyring->opening(active) == security::Opening::no)
      make_key(snapshot, 0, "making a root key");
    else if (duties.publish_key)
      make_key(snapshot, unix_now() + options.thresholds.prepublish,
               "publishing the next root key");
    else if (!making.is_under_way)
      making = {};
    share_keys(snapshot);
    if (writing != 0) return;
    for (const auto& variable : duties.rekey)
      rekey(snapshot, variable);
    rekey_acl(snapshot, duties);
    for (const auto& key : duties.activate)
      write(cluster::change_root_key(in_state(key, schema::RootKeyState::ACTIVE)),
            "activating a published root key");
    for (const auto& key : duties.retire)
      write(cluster::change_root_key(in_state(key, schema::RootKeyState::INACTIVE)),
            "retiring a root key");
    for (const auto& id : duties.remove)
      write(cluster::delete_root_key(id), "removing an unused root key");
  }

  void rekey(const state::Snapshot& snapshot, const Object<schema::Variable>& variable) {
    const auto items
        = keyring->open_variable(snapshot.root_key(view(variable->getKeyId())), variable);
    const auto sealed = items ? keyring->seal_variable(
                            snapshot.active_root_key(), view(variable->getNamespace()),
                            view(variable->getPath()), *items, variable->getModifyTime())
                              : Result<Object<schema::Variable>>{items.error()};
    if (!sealed) return;  // the key is not ours to open: another leader may do it
    write(cluster::set_variable(*sealed, variable->getModifyIndex(), {},
                                view(variable->getLock().getId())),
          "sealing a variable anew");
  }

  /// The secrets of access control, in one entry. Those that are not ours to open stay.
  void rekey_acl(const state::Snapshot& snapshot, const cluster::KeyringDuties& duties) {
    if (duties.rekey_tokens.empty() && duties.rekey_methods.empty()) return;
    Draft<schema::Command> draft;
    auto body = draft->initAclReseal();
    const auto tokens = static_cast<unsigned>(duties.rekey_tokens.size());
    const auto methods = static_cast<unsigned>(duties.rekey_methods.size());
    auto of_tokens = body.initTokens(tokens);
    auto of_methods = body.initAuthMethods(methods);
    unsigned done = 0;
    for (unsigned i = 0; i < tokens; ++i)
      done += reseal(snapshot, security::token_seal, *duties.rekey_tokens[i],
                     view(duties.rekey_tokens[i]->getAccessorId()), of_tokens[i]);
    for (unsigned i = 0; i < methods; ++i)
      done += reseal(snapshot, security::auth_method_seal, *duties.rekey_methods[i],
                     view(duties.rekey_methods[i]->getName()), of_methods[i]);
    if (done != 0) write(draft.freeze(), "sealing secrets of access control anew");
  }

  /// 1 if it could be opened, else 0, and `to` names nothing.
  template <class Row>
  unsigned reseal(const state::Snapshot& snapshot,
                  std::string_view kind,
                  Row row,
                  std::string_view name,
                  schema::AclReseal::Sealed::Builder to) {
    const auto active = snapshot.active_root_key();
    const auto secret = keyring->open_secret(snapshot.root_key(view(row.getKeyId())), {kind, name},
                                             row.getSealed());
    if (!secret) return 0;
    const auto sealed = keyring->seal_secret(active, {kind, name}, secret->text());
    if (!sealed) return 0;
    to.setName(text(name));
    to.setBefore(row.getSealed());
    to.setKeyId(active->getKeyId());
    to.setSealed({reinterpret_cast<const unsigned char*>(sealed->data()), sealed->size()});
    return 1;
  }
};

KeyringRotatorSelf::behavior_type keyring_rotator(KeyringRotatorState::Self self,
                                                  std::shared_ptr<state::Store> store,
                                                  std::shared_ptr<security::Keyring> keyring,
                                                  SealedLink servers,
                                                  KeyringRotatorOptions options) {
  auto* state = &self->state;
  state->self = self;
  state->store = std::move(store);
  state->keyring = std::move(keyring);
  state->servers = std::move(servers);
  state->random = Random{self->seed(options.random_seed)};
  state->options = options;
  actor::send_self_after(self, options.interval, LookAtKeys{});

  return {
      [state](Lead msg) {
        state->leads = msg.leads;
        if (!msg.leads) return;
        if (!state->making.is_under_way) state->making = {};
        state->look();
      },
      [state](LookAtKeys) {
        state->look();
        actor::send_self_after(state->self, state->options.interval, LookAtKeys{});
      },
  };
}

}  // namespace

LeaderDuty spawn_keyring_rotator(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 std::shared_ptr<security::Keyring> keyring,
                                 SealedLink servers,
                                 KeyringRotatorOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, keyring_rotator, std::move(store),
                                              std::move(keyring), std::move(servers), options);
}

}  // namespace nomad::server

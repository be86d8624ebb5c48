#include "actors/server/keyring_rotator.hpp"

#include <map>
#include <variant>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/overloaded.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "runtime/keyring/keyring_machine.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;

constexpr auto write_timeout = 10s;

constexpr auto complaint_pause = 1min;

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

namespace keyring_action = keyring::keyring_action;

/// What the machine's facts were found in.
struct Looked {
  security::Keyring::Rows keys = {};
  security::Keyring::Holders holders = {};
  Object<schema::KeyHolder> own = {};
  state::Snapshot snapshot = {};  ///< Of a leader, as is the next.
  keyring::KeyringDuties duties = {};
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
  keyring::KeyringMachine machine;
  /// When was warned of last, by what failed.
  std::map<std::string, std::chrono::steady_clock::time_point> told_at;
  Looked looked;

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  void go_on() {
    for (auto actions = machine.take(); !actions.empty(); actions = machine.take())
      for (const auto& action : actions)
        std::visit(Overloaded{[this](const keyring_action::Look&) { look(); },
                              [this](const keyring_action::Register&) { register_server(); },
                              [this](const keyring_action::MakeKey& it) { make_key(it); },
                              [this](const keyring_action::Wrap& it) { wrap(it.key_id); },
                              [this](const keyring_action::Share& it) { share(it.key_ids); },
                              [this](const keyring_action::DoDuties&) { do_duties(); }},
                   action);
  }

  void write(const Object<schema::Command>& command,
             std::string what,
             keyring::KeyringMachine::Subject of = {}) {
    machine.writing();
    NOMAD_FAILPOINT("server.before_key_write");
    self->request(servers, write_timeout, WriteSealed{command})
        .then(
            [this, of](const SealedWritten&) {
              NOMAD_FAILPOINT("server.after_key_write");
              machine.written(true, of, now());
              go_on();
            },
            [this, what = std::move(what), of](const Error& err) {
              machine.written(false, of, now());
              complain(what, err.what, machine.leads() && err.code != Errc::conflict);
              go_on();
            });
  }

  /// What goes on failing is tried at each look, and said once a minute.
  void complain(const std::string& what, const std::string& why, bool is_worth_saying) {
    const auto now = self->now();
    const auto told = told_at.find(what);
    if (told != told_at.end() && now < told->second + complaint_pause) is_worth_saying = false;
    log::write(is_worth_saying ? log::Level::warn : log::Level::debug, "keyring", what,
               {{"error", why}});
    if (is_worth_saying) told_at[what] = now;
  }

  security::Keyring::OtherSecrets others() const {
    using security::Keyring;
    return machine.leads() ? Keyring::OtherSecrets::drop : Keyring::OtherSecrets::keep;
  }

  void look() {
    const auto snapshot = store->snapshot();
    looked = {.keys = rows_of(snapshot), .holders = holders_of(snapshot)};
    const auto known = snapshot.key_holder(view(keyring->holder()->getId()));
    keyring::KeyringFacts facts{.may_register = keyring->try_wrapping_keys(looked.keys, known)};
    looked.own = keyring->holder(known);
    facts.is_known = known && known->getPublicKey() == looked.own->getPublicKey()
                     && opens_alike(*known, *looked.own);
    if (facts.is_known && machine.leads()) {
      looked.snapshot = snapshot;
      looked.duties = options.decide(snapshot, options.thresholds, unix_now());
      // After a restore of another cluster's snapshot nobody here may be able to open its key.
      facts.needs_key = looked.duties.make_key
                        || keyring->opening(snapshot.active_root_key()) == security::Opening::no;
      facts.needs_next_key = looked.duties.publish_key;
    }
    if (facts.is_known)
      for (const auto& key : looked.keys)
        facts.keys.push_back({.id = copy(key->getKeyId()),
                              .is_open = keyring->opening(key) == security::Opening::yes,
                              .lacks_key = keyring->lacks_wrap(key),
                              .lacks_wraps = keyring->lacks_wraps(key, looked.holders, others())});
    machine.look(facts, now());
  }

  /// Of those that were looked at.
  Object<schema::RootKey> key_of(const std::string& id) const {
    for (const auto& key : looked.keys)
      if (view(key->getKeyId()) == id) return key;
    return {};
  }

  void register_server() {
    write(cluster::put_key_holder(looked.own), "registering this server's keys");
  }

  void make_key(const keyring_action::MakeKey& wanted) {
    const auto publish_time = wanted.is_published ? unix_now() + options.thresholds.prepublish : 0;
    const std::string what
        = wanted.is_published ? "publishing the next root key" : "making a root key";
    keyring->make_root_key(
        make_uuid(random), unix_now(), looked.holders, publish_time,
        actor::turns_of(self).callback([this, what](const Result<Object<schema::RootKey>>& made) {
          machine.made(made.has_value(), now());
          if (made)
            write(cluster::put_root_key(*made, false), what, {.is_new_key = true});
          else
            complain(what, made.error().what, true);
          go_on();
        }));
  }

  /// Writes the row once the wrapping key has answered, which nothing else waits for.
  void wrap(const std::string& id) {
    keyring->rewrap(
        key_of(id), looked.holders, others(),
        actor::turns_of(self).callback([this, id](const Result<Object<schema::RootKey>>& row) {
          machine.wrapped(id, row.has_value(), now());
          if (!row)
            complain("wrapping a root key", row.error().what, true);
          else if (*row)
            write(cluster::change_root_key(*row), "wrapping a root key", {.wrapped_key = id});
          go_on();
        }));
  }

  void share(const std::vector<std::string>& ids) {
    for (const auto& id : ids)
      if (const auto wrapped = keyring->rewrap(key_of(id), looked.holders, others()))
        write(cluster::change_root_key(wrapped), "wrapping a root key");
    machine.shared();
  }

  void do_duties() {
    for (const auto& variable : looked.duties.rekey)
      rekey(looked.snapshot, variable);
    rekey_acl(looked.snapshot, looked.duties);
    for (const auto& key : looked.duties.activate)
      write(cluster::change_root_key(in_state(key, schema::RootKeyState::ACTIVE)),
            "activating a published root key");
    for (const auto& key : looked.duties.retire)
      write(cluster::change_root_key(in_state(key, schema::RootKeyState::INACTIVE)),
            "retiring a root key");
    for (const auto& id : looked.duties.remove)
      write(cluster::delete_root_key(id), "removing an unused root key");
    looked = {};
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

  /// The secrets of access control and of CSI volumes, in one entry. Those that are not ours to
  /// open stay.
  void rekey_acl(const state::Snapshot& snapshot, const keyring::KeyringDuties& duties) {
    if (duties.rekey_tokens.empty() && duties.rekey_methods.empty() && duties.rekey_volumes.empty())
      return;
    Draft<schema::Command> draft;
    auto body = draft->initAclReseal();
    const auto tokens = static_cast<unsigned>(duties.rekey_tokens.size());
    const auto methods = static_cast<unsigned>(duties.rekey_methods.size());
    auto of_tokens = body.initTokens(tokens);
    auto of_methods = body.initAuthMethods(methods);
    const auto volumes = static_cast<unsigned>(duties.rekey_volumes.size());
    auto of_volumes = body.initVolumes(volumes);
    unsigned done = 0;
    for (unsigned i = 0; i < tokens; ++i)
      done += reseal(snapshot, security::token_seal, *duties.rekey_tokens[i],
                     view(duties.rekey_tokens[i]->getAccessorId()), of_tokens[i]);
    for (unsigned i = 0; i < methods; ++i)
      done += reseal(snapshot, security::auth_method_seal, *duties.rekey_methods[i],
                     view(duties.rekey_methods[i]->getName()), of_methods[i]);
    for (unsigned i = 0; i < volumes; ++i)
      done += reseal(snapshot, security::csi_volume_seal, *duties.rekey_volumes[i],
                     state::kind::CsiVolumes::key(*duties.rekey_volumes[i]), of_volumes[i]);
    if (done != 0) write(draft.freeze(), "sealing secrets anew");
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
    to.setName({name.data(), name.size()});
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
        state->machine.lead(msg.leads);
        state->go_on();
      },
      [state](LookAtKeys) {
        state->machine.tick();
        state->go_on();
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

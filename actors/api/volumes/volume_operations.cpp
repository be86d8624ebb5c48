// Registering, creating, changing, deleting, deregistering and detaching CSI volumes. Secrets are
// sealed here before they go into the log, and go to a plugin alone. Tests: volume_write_test.
#include "actors/api/volumes/volume_operations.hpp"

#include "actors/api/cluster/root_key_wait.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/wiping_memory.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/volumes/controller_call.hpp"
#include "runtime/cluster/volumes/volume_answers.hpp"
#include "runtime/cluster/volumes/volume_commands.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {
namespace {

using Volume = Object<schema::CsiVolume>;
using Info = schema::CsiControllerInfo::Reader;

/// A volume on its way into the state.
struct PendingVolume {
  SharedCall call;
  const VolumeParts& parts;  ///< Of the routes: it lives as long as any call.
  Volume wanted;             ///< Without secrets; once they are sealed, with these.
  Secrets secrets = {};      ///< Empty: none were given.
  bool creates = false;      ///< By its plugin, if there is none yet.
};

using Pending = std::shared_ptr<PendingVolume>;

std::string_view ns_of(const PendingVolume& pending) {
  return view(pending.wanted->getNamespace());
}

/// As the draft with what `change` does to it.
template <class Change>
Volume changed(const Volume& volume, Change change) {
  Draft<schema::CsiVolume> draft{volume};
  change(*draft);
  return draft.freeze();
}

/// The volume of the body: {"Volumes":[…]} or {"Volume":…}.
Result<Pending> volume_of_body(Call& call, const VolumeParts& parts, bool creates) {
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(call.request(), memory.get()));
  BodyFields fields{body, "CSIVolumeRegisterRequest"};
  const auto* volumes = fields.array("Volumes");
  NOMAD_TRY(fields.check());
  if (volumes == nullptr || volumes->size == 0) return bad_request("missing volume definition");
  if (volumes->size != 1) return bad_request("one volume at a time can be registered");
  Draft<schema::CsiVolume> draft;
  NOMAD_TRY(from_json(*volumes->elements().begin(), *draft));
  NOMAD_TRY(call.context->bounds.check_text("volume", draft.reader().totalSize().wordCount * 8));
  if (draft.reader().getNamespace().size() == 0)
    draft->setNamespace(write_namespace(call.request()));
  const auto pending = std::make_shared<PendingVolume>(
      PendingVolume{.call = nullptr, .parts = parts, .wanted = {}, .creates = creates});
  if (draft.reader().getSecrets().size() != 0) {
    Draft<schema::CsiSecrets> secrets;
    secrets->setEntries(draft.reader().getSecrets());
    pending->secrets = secrets.freeze();
  }
  draft->disownSecrets();
  pending->wanted = draft.freeze();
  call.is_about(view(pending->wanted->getId()));
  return pending;
}

/// What was created, as it is stored now.
Answer created_answer(const state::Store& store,
                      const PendingVolume& pending,
                      std::uint64_t index) {
  const auto snapshot = store.snapshot();
  auto volume = snapshot.csi_volume(ns_of(pending), view(pending.wanted->getId()));
  if (!volume) volume = pending.wanted;
  const auto plugin = state::find_csi_plugin(snapshot, view(volume->getPluginId()));
  JsonObject object;
  auto& out = object.raw("Volumes");
  out += '[';
  append_json(out, cluster::volume_answer(volume, plugin ? &*plugin : nullptr, "[]"));
  out += ']';
  append_query_meta(object, index, true);
  return Answer::json(object.take()).with_index(index);
}

/// It is as its plugin has it: now the servers have to know.
void save(const Pending& pending) {
  const auto call = pending->call;
  const auto outcome = write(
      *call,
      [wanted = pending->wanted](const state::Snapshot& state, const access::Asking& asking,
                                 const cluster::EvalSeed&) {
        return cluster::decide_register_volume(state, asking, wanted);
      },
      [pending,
       store = call->context->state.store](const server::Written<cluster::Decision>& done) {
        if (!pending->creates) return Answer::empty().with_index(done.index);
        return created_answer(*store, *pending, done.index);
      });
  if (!outcome) call->fail(outcome.error());
}

/// After one of the plugin's calls: fails the request, or goes on with what it answered.
template <class Then>
ControllerDone then_with(const Pending& pending, Then then) {
  return [pending, then = std::move(then)](const Result<door::NodeReply>& reply) {
    if (!reply) return pending->call->fail(reply.error());
    then((*reply)->getCsiController());
  };
}

void set_capabilities(auto order, schema::CsiVolume::Reader volume) {
  order.setCapabilities(volume.getRequestedCapabilities());
  if (volume.hasMountOptions()) order.setMountOptions(volume.getMountOptions());
  if (volume.hasParameters()) order.setParameters(volume.getParameters());
}

/// Has the plugin say that it can give the volume as it is asked for.
void validate(const Pending& pending, const state::CsiPlugin& plugin, const Volume& stored) {
  const auto& wanted = *pending->wanted;
  const auto order = controller_order(
      plugin.id, pending->secrets, [&](schema::door::CsiControllerCall::Builder to) {
        auto validation = to.initValidate();
        validation.setExternalId(text(cluster::external_id(stored ? *stored : wanted)));
        set_capabilities(validation, wanted);
        if (stored && wanted.getParameters().size() == 0)
          validation.setParameters(stored->getParameters());
        const bool has_own = wanted.getContext().size() != 0 || !stored;
        validation.setContext(has_own ? wanted.getContext() : stored->getContext());
      });
  ask_controller(pending->call, pending->parts, plugin, order, "controller validate volume",
                 then_with(pending, [pending](auto) { save(pending); }));
}

void create(const Pending& pending, const state::CsiPlugin& plugin) {
  const auto& wanted = *pending->wanted;
  const auto order = controller_order(
      plugin.id, pending->secrets, [&](schema::door::CsiControllerCall::Builder to) {
        auto creation = to.initCreate();
        creation.setName(wanted.getName().size() != 0 ? wanted.getName() : wanted.getId());
        creation.setCapacityMin(wanted.getRequestedCapacityMin());
        creation.setCapacityMax(wanted.getRequestedCapacityMax());
        set_capabilities(creation, wanted);
        creation.setSnapshotId(wanted.getSnapshotId());
        creation.setCloneId(wanted.getCloneId());
        if (wanted.hasRequestedTopologies())
          creation.setTopologies(wanted.getRequestedTopologies());
      });
  ask_controller(pending->call, pending->parts, plugin, order, "controller create volume",
                 then_with(pending, [pending](schema::door::CsiControllerResult::Reader result) {
                   const auto made = result.getCreated();
                   pending->wanted = changed(pending->wanted, [&](auto volume) {
                     volume.setExternalId(made.getExternalId());
                     volume.setCapacity(made.getCapacity());
                     volume.setContext(made.getContext());
                     volume.setTopologies(made.getTopologies());
                   });
                   save(pending);
                 }));
}

/// Whether a stored volume is to become larger than it is.
bool is_to_grow(const PendingVolume& pending, const Volume& stored) {
  return stored->getCapacity() > 0
         && pending.wanted->getRequestedCapacityMin() > stored->getCapacity();
}

schema::CsiCapability::Reader capability_of(schema::CsiVolume::Reader volume) {
  const auto offered = volume.getRequestedCapabilities();
  for (const auto one : offered)
    if (one.getAccessMode() == volume.getAccessMode()
        && one.getAttachmentMode() == volume.getAttachmentMode())
      return one;
  return offered[0];
}

void set_expansion(schema::door::CsiExpand::Builder to,
                   const PendingVolume& pending,
                   const Volume& stored) {
  to.setExternalId(text(cluster::external_id(*stored)));
  to.setCapacityMin(pending.wanted->getRequestedCapacityMin());
  to.setCapacityMax(pending.wanted->getRequestedCapacityMax());
  to.setCapability(capability_of(*stored));
  if (stored->hasMountOptions()) to.setMountOptions(stored->getMountOptions());
}

/// Claim by claim, where its node has it.
void grow_on_nodes(const Pending& pending, const Volume& stored, unsigned next) {
  const auto claims = stored->getClaims();
  while (next < claims.size() && claims[next].getState() != schema::CsiClaimState::TAKEN)
    ++next;
  if (next >= claims.size()) return save(pending);
  auto question = door::make_node_ask(view(claims[next].getNodeId()),
                                      access::Principal::cluster("volumes"), [&](auto& ask) {
                                        auto order = ask.initCsiNode();
                                        order.setPluginId(stored->getPluginId());
                                        order.setVolumeId(stored->getId());
                                        order.setExternalId(text(cluster::external_id(*stored)));
                                        order.setNamespace(stored->getNamespace());
                                        order.setClaim(claims[next]);
                                        if (pending->secrets)
                                          order.setSecrets(pending->secrets->getEntries());
                                        set_expansion(order.initExpand(), *pending, stored);
                                      });
  pending->call->context->asker.ask<door::NodeReply>(
      pending->parts.nodes, std::move(question), door::csi_patience + std::chrono::seconds{10},
      [pending, stored, next](const Result<door::NodeReply>& reply) {
        if (!reply) return pending->call->fail(reply.error());
        grow_on_nodes(pending, stored, next + 1);
      });
}

void grow(const Pending& pending, const state::CsiPlugin& plugin, const Volume& stored) {
  const auto order = controller_order(plugin.id, pending->secrets,
                                      [&](schema::door::CsiControllerCall::Builder to) {
                                        set_expansion(to.initExpand(), *pending, stored);
                                      });
  ask_controller(
      pending->call, pending->parts, plugin, order, "controller expand volume",
      then_with(pending, [pending, stored](schema::door::CsiControllerResult::Reader result) {
        const auto expanded = result.getExpanded();
        pending->wanted = changed(pending->wanted,
                                  [&](auto volume) { volume.setCapacity(expanded.getCapacity()); });
        if (expanded.getOnNodes()) return grow_on_nodes(pending, stored, 0);
        save(pending);
      }));
}

/// Has the plugin do what is to be done before it is written.
Result<> prepare(const Pending& pending) {
  const auto snapshot = pending->call->context->state.store->snapshot();
  const auto id = view(pending->wanted->getPluginId());
  const auto plugin = state::find_csi_plugin(snapshot, id);
  if (!plugin) return bad_request("no CSI plugin named: " + std::string{id} + " could be found");
  const auto stored = snapshot.csi_volume(ns_of(*pending), view(pending->wanted->getId()));
  if (!stored && pending->creates) {
    const auto maker = NOMAD_TRY(plugin_that(snapshot, id, &Info::getSupportsCreateDelete));
    create(pending, maker);
    return {};
  }
  if (stored) {
    NOMAD_TRY(cluster::merge_volume(stored, pending->wanted));
    if (!pending->secrets)
      pending->secrets = NOMAD_TRY(stored_secrets(pending->parts, snapshot, stored));
    if (is_to_grow(*pending, stored)) {
      const auto grower = NOMAD_TRY(plugin_that(snapshot, id, &Info::getSupportsExpand));
      grow(pending, grower, stored);
      return {};
    }
  }
  if (plugin->controller_required)
    validate(pending, *plugin, stored);
  else
    save(pending);
  return {};
}

void prepare_or_fail(const Pending& pending) {
  if (const auto begun = prepare(pending); !begun) pending->call->fail(begun.error());
}

void seal_and_prepare(const Pending& pending, const Object<schema::RootKey>& key) {
  const auto name = state::kind::CsiVolumes::key(*pending->wanted);
  const auto bytes = pending->secrets.bytes();
  const auto sealed = pending->parts.keyring->seal_secret(
      key, {security::csi_volume_seal, name},
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!sealed) return pending->call->fail(sealed.error());
  pending->wanted = changed(pending->wanted, [&](auto volume) {
    volume.setKeyId(key->getKeyId());
    volume.setSealed({reinterpret_cast<const unsigned char*>(sealed->data()), sealed->size()});
  });
  prepare_or_fail(pending);
}

Outcome put_volume(Call& call, const VolumeParts& parts, bool creates) {
  if (!call.context->state.writer || !call.context->state.store) return no_leader();
  const auto pending = NOMAD_TRY(volume_of_body(call, parts, creates));
  NOMAD_TRY(authorize(call.asking, {ns_of(*pending)}));
  NOMAD_TRY(access::authorize(call.asking.who, Capability::plugin_read, {}));
  if (const auto mistakes = cluster::volume_mistakes(*pending->wanted); !mistakes.empty())
    return bad_request(cluster::mistakes_text(mistakes));
  pending->call = share(std::move(call));
  if (!pending->secrets) {
    prepare_or_fail(pending);
    return later;
  }
  if (!parts.keyring) {
    pending->call->fail(no_leader());
    return later;
  }
  with_root_key(pending->call,
                [pending](const Object<schema::RootKey>& key) { seal_and_prepare(pending, key); });
  return later;
}

Answer volume_written(const server::Written<cluster::Decision>& done) {
  return Answer::empty().with_index(done.index);
}

Outcome write_removal(Call& call, std::string ns, std::string id, bool force) {
  return write(
      call,
      [ns = std::move(ns), id = std::move(id), force](
          const state::Snapshot&, const access::Asking& asking, const cluster::EvalSeed&) {
        return cluster::decide_deregister_volume(asking, ns, id, force);
      },
      volume_written);
}

}  // namespace

Outcome register_volume(Call& call, const VolumeParts& parts) {
  return put_volume(call, parts, false);
}

Outcome create_volume(Call& call, const VolumeParts& parts) {
  return put_volume(call, parts, true);
}

Outcome deregister_volume(Call& call, const VolumeParts&) {
  const auto force = bool_parameter(call.request(), "force");
  if (!force) return bad_request("invalid force value");
  return write_removal(call, write_namespace(call.request()), call.rest, *force);
}

Outcome delete_volume(Call& call, const VolumeParts& parts) {
  if (!call.context->state.writer || !call.context->state.store) return no_leader();
  const auto ns = write_namespace(call.request());
  NOMAD_TRY(authorize(call.asking, {ns}));
  NOMAD_TRY(access::authorize(call.asking.who, Capability::plugin_read, {}));
  const auto snapshot = call.context->state.store->snapshot();
  const auto volume = snapshot.csi_volume(ns, call.rest);
  if (!volume) return not_found("volume not found: " + call.rest);
  if (volume->getClaims().size() != 0) return Error{Errc::conflict, "volume in use: " + call.rest};
  auto secrets = NOMAD_TRY(secrets_of_header(call.request()));
  if (!secrets) secrets = NOMAD_TRY(stored_secrets(parts, snapshot, volume));
  const auto plugin = NOMAD_TRY(
      plugin_that(snapshot, view(volume->getPluginId()), &Info::getSupportsCreateDelete));
  const auto order
      = controller_order(plugin.id, secrets, [&](schema::door::CsiControllerCall::Builder to) {
          to.setDelete(text(cluster::external_id(*volume)));
        });
  const auto shared = share(std::move(call));
  ask_controller(shared, parts, plugin, order, "controller delete volume",
                 [shared, ns](const Result<door::NodeReply>& reply) {
                   if (!reply) return shared->fail(reply.error());
                   const auto id = shared->rest;
                   const auto written = write_removal(*shared, ns, id, false);
                   if (!written) shared->fail(written.error());
                 });
  return later;
}

Outcome detach_volume(Call& call, const VolumeParts&) {
  const std::string node{call.request().parameter_or_empty("node")};
  if (node.empty()) return bad_request("detach requires node ID");
  return write(
      call,
      [ns = write_namespace(call.request()), id = call.rest, node](
          const state::Snapshot& state, const access::Asking& asking, const cluster::EvalSeed&) {
        return cluster::decide_detach_volume(state, asking, ns, id, node);
      },
      volume_written);
}

}  // namespace nomad::api

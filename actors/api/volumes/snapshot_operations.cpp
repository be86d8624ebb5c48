// /v1/volumes/external and /v1/volumes/snapshot: what plugins have, known to the servers or not.
// Tests: volume_write_test.
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/wiping_memory.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/volumes/controller_call.hpp"
#include "actors/api/volumes/volume_operations.hpp"
#include "runtime/cluster/volumes/volume_answers.hpp"

namespace nomad::api {
namespace {

using Info = schema::CsiControllerInfo::Reader;
using Order = schema::door::CsiControllerCall::Builder;

/// The plugin of the request, for a caller who may ask it.
Result<state::CsiPlugin> plugin_of(const Call& call, bool (Info::*supports)() const) {
  if (!call.context->state.store) return no_leader();
  NOMAD_TRY(authorize(call.asking, {write_namespace(call.request())}));
  const auto id = call.request().parameter_or_empty("plugin_id");
  if (id.empty()) return bad_request("missing plugin id");
  return plugin_that(call.context->state.store->snapshot(), id, supports);
}

void set_page(schema::door::CsiPage::Builder page, const ReadOptions& options) {
  page.setMaxEntries(options.per_page);
  page.setStartingToken(text(options.next_token));
}

template <class List>
Answer page_answer(std::string_view name, const List& list, capnp::Text::Reader next_token) {
  JsonObject object;
  append_json_list(object.raw(name), list,
                   [](std::string& out, const auto one) { append_json(out, one); });
  object.number("Index", 0).boolean("KnownLeader", true).number("LastContact", 0);
  object.text("NextToken", next_token);
  return Answer::json(object.take());
}

/// A snapshot as answers have it: its volume and plugin are known here, its secrets to nobody.
Object<schema::CsiSnapshot> shown_snapshot(schema::CsiSnapshot::Reader snapshot,
                                           std::string_view plugin,
                                           capnp::Text::Reader volume) {
  Draft<schema::CsiSnapshot> draft{snapshot};
  draft->disownSecrets();
  draft->setPluginId(std::string{plugin});
  draft->setSourceVolumeId(volume);
  return draft.freeze();
}

}  // namespace

Outcome list_external(Call& call, const VolumeParts& parts) {
  const auto options = NOMAD_TRY(parse_read_options(call.request()));
  const auto plugin = NOMAD_TRY(plugin_of(call, &Info::getSupportsListVolumes));
  const auto order
      = controller_order(plugin.id, {}, [&](Order to) { set_page(to.initListVolumes(), options); });
  const auto shared = share(std::move(call));
  ask_controller(shared, parts, plugin, order, "controller list volumes",
                 [shared](const Result<door::NodeReply>& reply) {
                   if (!reply) return shared->fail(reply.error());
                   const auto page = (*reply)->getCsiController().getVolumes();
                   shared->send(page_answer("Volumes", page.getVolumes(), page.getNextToken()));
                 });
  return later;
}

Outcome list_snapshots(Call& call, const VolumeParts& parts) {
  const auto options = NOMAD_TRY(parse_read_options(call.request()));
  const auto plugin = NOMAD_TRY(plugin_of(call, &Info::getSupportsListSnapshots));
  const auto secrets = NOMAD_TRY(secrets_of_header(call.request()));
  const auto order = controller_order(plugin.id, secrets,
                                      [&](Order to) { set_page(to.initListSnapshots(), options); });
  const auto shared = share(std::move(call));
  ask_controller(shared, parts, plugin, order, "controller list snapshots",
                 [shared, id = plugin.id](const Result<door::NodeReply>& reply) {
                   if (!reply) return shared->fail(reply.error());
                   const auto page = (*reply)->getCsiController().getSnapshots();
                   std::vector<Object<schema::CsiSnapshot>> shown;
                   for (const auto one : page.getSnapshots())
                     shown.push_back(shown_snapshot(one, id, ""));
                   shared->send(page_answer("Snapshots", shown, page.getNextToken()));
                 });
  return later;
}

Outcome create_snapshot(Call& call, const VolumeParts& parts) {
  if (!call.context->state.store) return no_leader();
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(call.request(), memory.get()));
  BodyFields fields{body, "CSISnapshotCreateRequest"};
  const auto* snapshots = fields.array("Snapshots");
  NOMAD_TRY(fields.check());
  if (snapshots == nullptr || snapshots->size != 1)
    return bad_request("one snapshot at a time can be made");
  Draft<schema::CsiSnapshot> wanted;
  NOMAD_TRY(from_json(*snapshots->elements().begin(), *wanted));
  const auto ns = write_namespace(call.request());
  NOMAD_TRY(authorize(call.asking, {ns}));
  NOMAD_TRY(access::authorize(call.asking.who, Capability::plugin_read, {}));
  const auto state = call.context->state.store->snapshot();
  const auto volume = state.csi_volume(ns, view(wanted.reader().getSourceVolumeId()));
  if (!volume) return not_found("volume not found: " + copy(wanted.reader().getSourceVolumeId()));
  const auto plugin = NOMAD_TRY(
      plugin_that(state, view(volume->getPluginId()), &Info::getSupportsCreateDeleteSnapshot));
  Secrets secrets;
  if (wanted.reader().getSecrets().size() != 0) {
    Draft<schema::CsiSecrets> given;
    given->setEntries(wanted.reader().getSecrets());
    secrets = given.freeze();
  } else {
    secrets = NOMAD_TRY(stored_secrets(parts, state, volume));
  }
  const auto order = controller_order(plugin.id, secrets, [&](Order to) {
    auto creation = to.initCreateSnapshot();
    creation.setExternalId(text(cluster::external_id(*volume)));
    creation.setName(wanted.reader().getName());
    creation.setParameters(wanted.reader().getParameters());
  });
  const auto shared = share(std::move(call));
  ask_controller(shared, parts, plugin, order, "controller create snapshot",
                 [shared, volume, id = plugin.id](const Result<door::NodeReply>& reply) {
                   if (!reply) return shared->fail(reply.error());
                   const auto page = (*reply)->getCsiController().getSnapshots();
                   std::vector<Object<schema::CsiSnapshot>> shown;
                   for (const auto one : page.getSnapshots())
                     shown.push_back(shown_snapshot(one, id, volume->getId()));
                   shared->send(page_answer("Snapshots", shown, ""));
                 });
  return later;
}

Outcome delete_snapshot(Call& call, const VolumeParts& parts) {
  NOMAD_TRY(access::authorize(call.asking.who, Capability::plugin_read, {}));
  const auto plugin = NOMAD_TRY(plugin_of(call, &Info::getSupportsCreateDeleteSnapshot));
  const std::string id{call.request().parameter_or_empty("snapshot_id")};
  if (id.empty()) return bad_request("missing snapshot id");
  const auto secrets = NOMAD_TRY(secrets_of_header(call.request()));
  const auto order
      = controller_order(plugin.id, secrets, [&](Order to) { to.setDeleteSnapshot(text(id)); });
  const auto shared = share(std::move(call));
  ask_controller(shared, parts, plugin, order, "controller delete snapshot",
                 [shared](const Result<door::NodeReply>& reply) {
                   if (!reply) return shared->fail(reply.error());
                   shared->send(Answer::empty());
                 });
  return later;
}

}  // namespace nomad::api

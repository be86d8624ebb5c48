// How the API has a plugin do something: it asks healthy controllers of the plugin, wherever they
// run, one after the other until one has it. Who may ask is judged before.
#pragma once

#include <functional>
#include <string>

#include "actors/api/http/routes.hpp"
#include "runtime/state/volumes/csi_plugins.hpp"
#include "schema/node_door.capnp.h"

namespace nomad::api {

using ControllerOrder = Object<schema::door::CsiControllerCall>;
using ControllerDone = std::function<void(const Result<door::NodeReply>&)>;
using Secrets = Object<schema::CsiSecrets>;

/// The order to a controller of `plugin` with these secrets, which may be empty; `fill` gets its
/// builder and says what is to be done.
template <class Fill>
ControllerOrder controller_order(std::string_view plugin, const Secrets& secrets, Fill fill) {
  Draft<schema::door::CsiControllerCall> draft;
  draft->setPluginId(std::string{plugin});
  if (secrets) draft->setSecrets(secrets->getEntries());
  fill(*draft);
  return draft.freeze();
}

/// Has a controller do it; `then` gets its answer, or what the last one that was asked said; in a
/// gateway of the Api, so it is quick. `attempt`, a literal, stands before why: "controller create
/// volume". Plugin calls take up to two minutes.
void ask_controller(const SharedCall& call,
                    const VolumeParts& parts,
                    const state::CsiPlugin& plugin,
                    const ControllerOrder& order,
                    std::string_view attempt,
                    const ControllerDone& then);

/// What the header X-Nomad-CSI-Secrets brings: "key=value,key2=value2"; empty: it brings none.
Result<Secrets> secrets_of_header(const net::Request& request);

/// What is stored of a volume's secrets, opened; empty: nothing is.
Result<Secrets> stored_secrets(const VolumeParts& parts,
                               const state::Snapshot& snapshot,
                               const Object<schema::CsiVolume>& volume);

/// The plugin, which must be there and have a healthy controller of which `supports` holds.
Result<state::CsiPlugin> plugin_that(const state::Snapshot& snapshot,
                                     std::string_view id,
                                     bool (schema::CsiControllerInfo::Reader::*supports)() const);

}  // namespace nomad::api

// What is done with CSI volumes: each of these reads a request, judges its caller, asks a
// controller plugin where one has to do something, and writes what the servers have to know.
#pragma once

#include "actors/api/http/routes.hpp"

namespace nomad::api {

/// PUT /v1/volumes and /v1/volume/csi/<id>: the one of the body.
Outcome register_volume(Call& call, const VolumeParts& parts);

/// DELETE /v1/volume/csi/<id>, by `?force`.
Outcome deregister_volume(Call& call, const VolumeParts& parts);

/// PUT …/create: has the plugin make it, and registers it.
Outcome create_volume(Call& call, const VolumeParts& parts);

/// DELETE …/delete: has the plugin remove it, and deregisters it.
Outcome delete_volume(Call& call, const VolumeParts& parts);

/// DELETE …/detach?node=<id>: gives back what allocations of the node have had of it.
Outcome detach_volume(Call& call, const VolumeParts& parts);

Outcome list_external(Call& call, const VolumeParts& parts);
Outcome list_snapshots(Call& call, const VolumeParts& parts);
Outcome create_snapshot(Call& call, const VolumeParts& parts);
Outcome delete_snapshot(Call& call, const VolumeParts& parts);

}  // namespace nomad::api

// volume create, delete, deregister, detach, init, register.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/input.hpp"
#include "cli/lookup.hpp"
#include "cli/new_file.hpp"
#include "cli/output/json_view.hpp"
#include "cli/run.hpp"
#include "cli/volume/volume_file.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view example_volume_hcl = R"(id        = "ebs_prod_db1"
namespace = "default"
name      = "database"
type      = "csi"
plugin_id = "plugin_id"

# For 'nomadctl volume register', provide the external ID from the storage
# provider. This field should be omitted when creating a volume with
# 'nomadctl volume create'
external_id = "vol-23452345"

# For 'nomadctl volume create', specify a snapshot ID or volume to clone. You
# can specify only one of these two fields.
# snapshot_id = "snap-12345"
# clone_id    = "vol-abcdef"

# Optional: for 'nomadctl volume create', specify a maximum and minimum
# capacity.
capacity_min = "10GiB"
capacity_max = "20G"

# Required (at least one): for 'nomadctl volume create', specify one or more
# capabilities to validate.
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# Optional: for volumes with file-system attachment, how to mount them.
mount_options {
  fs_type     = "ext4"
  mount_flags = ["noatime"]
}

# Optional: where the volume must, or should, be reachable from.
# topology_request {
#   required {
#     topology {
#       segments {
#         rack = "R2"
#       }
#     }
#   }
# }

# Optional: sealed, and given to the plugin alone.
# secrets {
#   example_secret = "xyzzy"
# }

# Optional: as the plugin's documentation says.
# parameters {
#   skuname = "Premium_LRS"
# }

# Optional: of a volume that was made by other means.
# context {
#   endpoint = "http://192.168.1.101:9425"
# }
)";

constexpr std::string_view example_volume_json = R"({
  "id": "ebs_prod_db1",
  "namespace": "default",
  "name": "database",
  "type": "csi",
  "plugin_id": "plugin_id",
  "external_id": "vol-23452345",
  "capacity_min": "10GiB",
  "capacity_max": "20G",
  "capability": [
    {
      "access_mode": "single-node-writer",
      "attachment_mode": "file-system"
    }
  ],
  "mount_options": {
    "fs_type": "ext4",
    "mount_flags": ["noatime"]
  }
}
)";

Result<boost::json::object> read_volume(const std::string& path) {
  auto text = NOMAD_TRY(read_input(path).within("Error reading volume specification"));
  return volume_of_file(path, std::move(text)).within("Error parsing the volume specification");
}

/// The id, which the path needs.
Result<std::string> id_of(const boost::json::object& volume) {
  const auto* id = volume.if_contains("ID");
  if (id == nullptr || !id->is_string() || id->get_string().empty())
    return mistake("Error: the volume specification has no id");
  return std::string{id->get_string()};
}

boost::json::object body_of(const boost::json::object& volume) {
  boost::json::array volumes;
  volumes.emplace_back(volume);
  return {{"Volumes", std::move(volumes)}};
}

std::string volume_path(std::string_view id, std::string_view operation = {}) {
  return fmt::format("/v1/volume/csi/{}{}", segment(id), operation);
}

}  // namespace

Result<int> run_volume_init(const std::vector<std::string>& arguments) {
  Arguments parser{"volume init [options] [file]", "Writes an example specification of a volume."};
  auto& is_json = parser.flag("json", "As JSON.");
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() > 1)
    return parser.misuse("This command takes no arguments or one: <filename>");
  const std::string path = !parser.positional().empty() ? parser.positional()[0]
                           : is_json                    ? "volume.json"
                                                        : "volume.hcl";
  NOMAD_TRY(write_new(path, is_json ? example_volume_json : example_volume_hcl)
                .within("Failed to write"));
  std::cout << fmt::format("Example volume specification written to {}\n", path);
  return 0;
}

Result<int> run_volume_register(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume register [options] <input>",
                     "Registers the volume that a file describes, or updates it; \"-\": stdin."};
  if (auto code = command.start(arguments, one_word("<input>"))) return *code;
  const auto volume = NOMAD_TRY(read_volume(command.positional()[0]));
  const auto id = NOMAD_TRY(id_of(volume));
  NOMAD_TRY(command.api->put(volume_path(id), body_of(volume)).within("Error registering volume"));
  std::cout << fmt::format("Volume \"{}\" registered\n", id);
  return 0;
}

Result<int> run_volume_create(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume create [options] <input>",
                     "Has a plugin make the volume that a file describes; \"-\": stdin."};
  command.answer_timeout = std::chrono::minutes{3};
  if (auto code = command.start(arguments, one_word("<input>"))) return *code;
  const auto volume = NOMAD_TRY(read_volume(command.positional()[0]));
  const auto id = NOMAD_TRY(id_of(volume));
  const auto answer = NOMAD_TRY(command.api->put(volume_path(id, "/create"), body_of(volume))
                                    .within("Error creating volume"));
  for (const auto& made : answer.view()["Volumes"].items())
    std::cout << fmt::format("Created external volume {} with ID {}\n", made["ExternalID"].text(),
                             made["ID"].text());
  return 0;
}

Result<int> run_volume_deregister(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume deregister [options] <id>",
                     "Forgets a volume; what its plugin has of it stays."};
  auto& force = command.flag("force", "Also one in use, if all its allocations have ended.");
  if (auto code = command.start(arguments, one_word("<volume id>"))) return *code;
  const auto& id = command.positional()[0];
  NOMAD_TRY(command.api->remove(volume_path(id), {{"force", force ? "true" : "false"}})
                .within("Error deregistering volume"));
  std::cout << fmt::format("Successfully deregistered volume \"{}\"!\n", id);
  return 0;
}

Result<int> run_volume_delete(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume delete [options] <id>",
                     "Has a volume's plugin delete it, and forgets it."};
  command.answer_timeout = std::chrono::minutes{3};
  auto& secrets = command.list("secret", "A secret for the plugin, key=value; several may stand.");
  if (auto code = command.start(arguments, one_word("<volume id>"))) return *code;
  const auto& id = command.positional()[0];
  command.api->add_header("X-Nomad-CSI-Secrets", NOMAD_TRY(secrets_header(secrets)));
  NOMAD_TRY(command.api->remove(volume_path(id, "/delete")).within("Error deleting volume"));
  std::cout << fmt::format("Successfully deleted volume \"{}\"!\n", id);
  return 0;
}

Result<int> run_volume_detach(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume detach [options] <volume id> <node id>",
                     "Gives back what ended allocations of a node have had of a volume."};
  if (auto code
      = command.start(arguments, {2, 2, "This command takes two arguments: <volume id> <node id>"}))
    return *code;
  const auto node
      = NOMAD_TRY(find_by_prefix(*command.api, node_kind, command.positional()[1], false));
  NOMAD_TRY(command.api->remove(volume_path(command.positional()[0], "/detach"),
                                {{"node", node.view()["ID"].text()}}));
  return 0;
}

}  // namespace nomad::cli

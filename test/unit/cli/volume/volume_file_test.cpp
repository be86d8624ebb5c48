// Specifications of volumes.
#include "cli/volume/volume_file.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cli;

namespace {

std::string problem_of(const std::string& text) {
  const auto volume = volume_of_file("volume.hcl", text);
  return volume ? "" : volume.error().what;
}

}  // namespace

TEST_CASE("volume file: HCL becomes what the API takes") {
  const auto volume = volume_of_file("volume.hcl", R"(
id           = "data"
type         = "csi"
plugin_id    = "p"
capacity_min = "10GiB"
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
capability {
  access_mode     = "multi-node-reader-only"
  attachment_mode = "file-system"
}
mount_options {
  fs_type = "ext4"
}
topology_request {
  required {
    topology {
      segments {
        rack = "r1"
      }
    }
    topology {
      segments {
        rack = 2
      }
    }
  }
}
secrets {
  key = "hush"
}
)");
  REQUIRE(volume.has_value());
  CHECK(
      boost::json::serialize(*volume)
      == R"({"ID":"data","Secrets":{"key":"hush"},"PluginID":"p","RequestedCapacityMin":10737418240,)"
         R"("RequestedCapabilities":[{"AccessMode":"single-node-writer","AttachmentMode":"file-system"},)"
         R"({"AccessMode":"multi-node-reader-only","AttachmentMode":"file-system"}],)"
         R"("MountOptions":{"FSType":"ext4"},"RequestedTopologies":{"Required":[)"
         R"({"Segments":{"rack":"r1"}},{"Segments":{"rack":"2"}}]}})");
}

TEST_CASE("volume file: what is no volume is refused with the key") {
  CHECK(problem_of(R"(colour = "red")").find("invalid key: colour") != std::string::npos);
  CHECK(problem_of(R"(type = "nfs")") == "Error unknown volume type: nfs");
  CHECK(problem_of("capability = 7") == "capability: expected a block");
  CHECK(problem_of("mount_options = 7") == "mount_options: expected a block");
  CHECK(problem_of("topology_request = 7") == "topology_request: expected a block");
  CHECK(problem_of("topology_request {\n required {\n topology = [7]\n }\n}")
        == "topology: expected a block");
  CHECK(problem_of(R"(capacity_min = "much")")
        == "RequestedCapacityMin: \"much\" is no size: write it as \"10GiB\" or in bytes");
}

TEST_CASE("volume file: sizes and secrets") {
  CHECK(parse_bytes("1.5 GB").value() == 1'500'000'000);
  CHECK(parse_bytes("4096").value() == 4096);
  CHECK(parse_bytes("2kib").value() == 2048);
  CHECK_FALSE(parse_bytes("-1"));
  CHECK_FALSE(parse_bytes("99999999PB"));
  CHECK(secrets_header({"a=b", "c=d=e"}).value() == "a=b,c=d=e");
  CHECK_FALSE(secrets_header({"a"}));
  CHECK(secrets_header({"a=b,c"}).error().what
        == "a secret with a comma or a line break can't be given on the command line");
}

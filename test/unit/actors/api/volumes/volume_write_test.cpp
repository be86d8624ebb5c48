// Volumes over HTTP: registered, made by a played plugin, changed, and removed.
#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

using Order = schema::door::CsiControllerCall::Reader;
using Result_ = schema::door::CsiControllerResult::Builder;

const std::string file = R"("RequestedCapabilities":[{"AccessMode":"single-node-writer",)"
                         R"("AttachmentMode":"file-system"}])";

std::string body_of(const std::string& more) {
  return R"({"Volumes":[{"ID":"data","Name":"disk","PluginID":"p",)" + file + more + "}]}";
}

/// An API of a cluster with one plugin, whose controller answers what the test says.
struct Volumes : ApiFixture {
  std::vector<std::string> asked;  ///< What its controller was asked, in order.

  explicit Volumes(bool has_controller = true) {
    add_root_key();
    state().run([&](auto command) {
      auto node = command.initNodeRegister().initNode();
      state::fill(node, state::NodeSpec{.id = own_node});
      auto entry = node.initCsiNodePlugins(1)[0];
      entry.setKey("p");
      entry.initValue().setHealthy(true);
      entry.getValue().setProvider("org.example.disks");
      if (!has_controller) return;
      auto controller = node.initCsiControllerPlugins(1)[0];
      controller.setKey("p");
      auto info = controller.initValue();
      info.setHealthy(true);
      info.setRequiresControllerPlugin(true);
      auto can = info.initControllerInfo();
      can.setSupportsCreateDelete(true);
      can.setSupportsExpand(true);
      can.setSupportsCreateDeleteSnapshot(true);
      can.setSupportsListSnapshots(true);
    });
    played->volumes = [this](const door::NodeAsk& ask) { return answer(ask); };
  }

  Result<door::NodeReply> answer(const door::NodeAsk& ask) {
    if (ask->isCsiNode()) {
      asked.emplace_back("expand on node");
      return door::make_node_reply([](auto& reply) { reply.initCsiNode().setCapacity(20); });
    }
    const auto order = ask->getCsiController();
    std::string secrets;
    for (const auto one : order.getSecrets())
      secrets += " " + copy(one.getKey()) + "=" + copy(one.getValue());
    return door::make_node_reply(
        [&](auto& reply) { asked.push_back(fill(order, reply.initCsiController()) + secrets); });
  }

  static std::string fill(Order order, Result_ result) {
    result.setDone();
    if (order.isValidate()) return "validate " + copy(order.getValidate().getExternalId());
    if (order.isDelete()) return "delete " + copy(order.getDelete());
    if (order.isDeleteSnapshot()) return "delete snapshot " + copy(order.getDeleteSnapshot());
    if (order.isCreate()) {
      auto made = result.initCreated();
      made.setExternalId("vol-1");
      made.setCapacity(10);
      made.initContext(1)[0].setKey("made-by");
      return "create " + copy(order.getCreate().getName());
    }
    if (order.isExpand()) {
      result.initExpanded().setCapacity(order.getExpand().getCapacityMin());
      result.getExpanded().setOnNodes(true);
      return "expand " + copy(order.getExpand().getExternalId());
    }
    auto one = result.initSnapshots().initSnapshots(1)[0];
    one.setId("snap-1");
    one.setIsReady(true);
    return order.isCreateSnapshot() ? "snapshot " + copy(order.getCreateSnapshot().getExternalId())
                                    : "list snapshots";
  }

  std::string put(const std::string& path, const std::string& body) {
    const auto answer = send("PUT", path, body);
    return answer.status == 200 ? "" : std::to_string(answer.status) + " " + answer.body;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Volumes, "volumes: one is registered once its plugin says that it is there") {
  CHECK(
      put("/v1/volume/csi/data", body_of(R"(,"Secrets":{"key":"hush"},"ExternalID":"e")")).empty());
  CHECK(asked == std::vector<std::string>{"validate e key=hush"});
  const auto read = get("/v1/volume/csi/data").body;
  CHECK(read.find("hush") == std::string::npos);
  CHECK(read.find(R"("Schedulable":true)") != std::string::npos);
  CHECK(json("/v1/volumes?type=csi").at(0).at("Provider") == "org.example.disks");
  CHECK(json("/v1/volumes?type=csi&plugin_id=q").as_array().empty());
  CHECK(json("/v1/volumes?type=csi&prefix=da").as_array().size() == 1);
  CHECK(json("/v1/plugin/csi/p").at("ControllersHealthy") == 1);
  CHECK(refusal("/v1/plugin/csi/none") == "404 plugin not found");
  CHECK(refusal("/v1/volume/csi/none") == "404 volume not found");

  // The secrets stay, and go to the plugin alone.
  CHECK(put("/v1/volume/csi/data", body_of("")).empty());
  CHECK(asked.back() == "validate e key=hush");
  CHECK(put("/v1/volume/csi/data", body_of(R"(,"Parameters":{"a":"b"})"))
            .find("volume parameters cannot be updated")
        != std::string::npos);
}

TEST_CASE_FIXTURE(Volumes, "volumes: what is no volume is refused before anybody is asked") {
  CHECK(put("/v1/volumes", "{}") == "400 missing volume definition");
  CHECK(put("/v1/volumes", R"({"Volumes":[{},{}]})")
        == "400 one volume at a time can be registered");
  CHECK(put("/v1/volumes", R"({"Volumes":[{}]})").starts_with("400 validation: missing volume id"));
  CHECK(put("/v1/volumes", R"({"Volumes":[{"ID":7}]})").starts_with("400"));
  CHECK(put("/v1/volumes", R"({"Volumes":[{"ID":"x","PluginID":"p","RequestedCapabilities":[{}]}]})")
        == "400 validation: capability block is missing an access mode, capability block is missing "
           "an attachment mode");
  CHECK(asked.empty());
  CHECK(refusal("DELETE", "/v1/volume/csi/data?force=x", "") == "400 invalid force value");
  CHECK(refusal("DELETE", "/v1/volume/csi/data/detach", "") == "400 detach requires node ID");
  CHECK(refusal("DELETE", "/v1/volume/csi/data/delete", "") == "404 volume not found: data");
  CHECK(refusal("DELETE", "/v1/volume/csi/data", "") == "404 volume not found: data");
}

TEST_CASE_FIXTURE(Volumes, "volumes: one is made, grows and is deleted by its plugin") {
  const auto made = send("PUT", "/v1/volume/csi/data/create", body_of(""));
  CHECK(made.status == 200);
  CHECK(made.body.find(R"("ExternalID":"vol-1")") != std::string::npos);
  CHECK(asked.back() == "create disk");

  CHECK(put("/v1/volume/csi/data/create", body_of(R"(,"RequestedCapacityMin":20)")).empty());
  CHECK(asked.back() == "expand vol-1");  // nobody has mounted it
  CHECK(json("/v1/volume/csi/data").at("Capacity") == 20);
  CHECK(json("/v1/volume/csi/data").at("Context").as_object().size() == 1);

  auto client = net::HttpClient::make(
      {.address = "http://" + address(), .headers = {{"X-Nomad-CSI-Secrets", "k=v,l=w"}}});
  CHECK(client->send({.method = "DELETE", .target = "/v1/volume/csi/data/delete"})->status == 200);
  CHECK(asked.back() == "delete vol-1 k=v l=w");
  CHECK(json("/v1/volumes?type=csi").as_array().empty());
}

TEST_CASE_FIXTURE(Volumes, "volumes: snapshots are made, listed and deleted by the plugin") {
  REQUIRE(put("/v1/volume/csi/data/create", body_of("")).empty());
  const auto made = send("PUT", "/v1/volumes/snapshot",
                         R"({"Snapshots":[{"SourceVolumeID":"data","Name":"s"}]})");
  CHECK(made.body.find(R"("SourceVolumeID":"data")") != std::string::npos);
  CHECK(asked.back() == "snapshot vol-1");
  CHECK(get("/v1/volumes/snapshot?plugin_id=p").body.find("snap-1") != std::string::npos);
  CHECK(send("DELETE", "/v1/volumes/snapshot?plugin_id=p&snapshot_id=snap-1").status == 200);
  CHECK(asked.back() == "delete snapshot snap-1");

  CHECK(put("/v1/volumes/snapshot", "{}") == "400 one snapshot at a time can be made");
  CHECK(put("/v1/volumes/snapshot", R"({"Snapshots":[{"SourceVolumeID":"x"}]})")
        == "404 volume not found: x");
  CHECK(refusal("DELETE", "/v1/volumes/snapshot?plugin_id=p", "") == "400 missing snapshot id");
  CHECK(refusal("/v1/volumes/snapshot?plugin_id=none") == "404 no such plugin: none");
  CHECK(refusal("/v1/volumes/external?plugin_id=p") == "400 unimplemented for this plugin: p");
  auto client = net::HttpClient::make(
      {.address = "http://" + address(), .headers = {{"X-Nomad-CSI-Secrets", "novalue"}}});
  CHECK(client->send({.method = "GET", .target = "/v1/volumes/snapshot?plugin_id=p"})->body
        == "X-Nomad-CSI-Secrets must be key=value pairs with commas between them");
}

TEST_CASE("volumes: a plugin without a controller makes none") {
  Volumes fixture{false};
  CHECK(fixture.put("/v1/volume/csi/data/create", body_of("")) == "400 plugin has no controller");
  CHECK(fixture.put("/v1/volume/csi/data", body_of("")).empty());
  CHECK(fixture.asked.empty());
}

TEST_CASE_FIXTURE(Volumes,
                  "volumes: what the plugin refuses is the answer, and nothing is stored") {
  played->volumes = [](const door::NodeAsk&) -> Result<door::NodeReply> {
    return Error{Errc::rejected, "CSI.ControllerCreateVolume: no"};
  };
  CHECK(put("/v1/volume/csi/data/create", body_of(""))
        == "400 controller create volume: CSI.ControllerCreateVolume: no");
  played->volumes = nullptr;
  CHECK(put("/v1/volume/csi/data", body_of("")).find("controller validate volume")
        != std::string::npos);
  CHECK(json("/v1/volumes?type=csi").as_array().empty());
}

// What nodes read for the templates of their tasks, and when they hear of a change.
#include "runtime/cluster/data/node_data.hpp"

#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::cluster;
using templates::ClusterQuery;
using Kind = ClusterQuery::Kind;

namespace {

struct Data : state::StateFixture {
  Data() {
    run([](auto command) {
      auto key = command.initRootKeyUpsert().initKey();
      key.setKeyId("k1");
      key.setState(schema::RootKeyState::ACTIVE);
    });
  }

  void put_service(const char* id, const char* name, std::vector<std::string> tags = {}) {
    run([&](auto command) {
      auto service = command.initServiceUpsert().initServices(1)[0];
      service.setId(id);
      service.setServiceName(name);
      service.setNamespace("default");
      service.setAddress("10.0.0.1");
      auto list = service.initTags(static_cast<unsigned>(tags.size()));
      for (unsigned i = 0; i < tags.size(); ++i)
        list.set(i, text(tags[i]));
    });
  }

  void put_variable(const char* path, const char* ns = "default") {
    run([&](auto command) {
      auto apply = command.initVariableApply();
      apply.setOperation(schema::VariableOperation::SET);
      auto variable = apply.initVariable();
      variable.setKeyId("k1");
      variable.setNamespace(ns);
      variable.setPath(path);
    });
  }

  NodeData read(const ClusterQuery& query) const {
    auto data = read_node_data(now(), query);
    REQUIRE(data.has_value());
    return *data;
  }

  std::uint64_t digest(const ClusterQuery& query) const { return digest_of(read(query)); }
};

const ClusterQuery names{.kind = Kind::services, .name_space = "default"};
const ClusterQuery front{.kind = Kind::service, .name_space = "default", .name = "front"};
const ClusterQuery app{.kind = Kind::variable, .name_space = "default", .name = "app"};
const ClusterQuery below_app{.kind = Kind::variables, .name_space = "default", .name = "app/"};

}  // namespace

TEST_CASE("node_data: names of services come once, with the tags of all instances") {
  Data state;
  state.put_service("a", "front", {"x"});
  state.put_service("b", "front", {"y"});
  state.put_service("c", "back");
  const auto data = state.read(names);
  REQUIRE(data.services.size() == 2);
  CHECK(view(data.services[0]->getServiceName()) == "back");
  CHECK(data.services[1]->getTags().size() == 2);
}

TEST_CASE("node_data: another instance of a known service is no change of the names") {
  Data state;
  state.put_service("a", "front", {"x"});
  const auto before = state.digest(names);
  state.put_service("b", "front", {"x"});
  CHECK(state.digest(names) == before);
  state.put_service("c", "front", {"y"});
  CHECK(state.digest(names) != before);
}

TEST_CASE("node_data: instances are chosen by tag and by key") {
  Data state;
  state.put_service("a", "front", {"x"});
  state.put_service("b", "front");
  state.put_service("c", "other", {"x"});
  auto tagged = front;
  tagged.tag = "x";
  auto one = front;
  one.choose = "1|key";
  CHECK(state.read(front).services.size() == 2);
  REQUIRE(state.read(tagged).services.size() == 1);
  CHECK(view(state.read(tagged).services[0]->getId()) == "a");
  CHECK(state.read(one).services.size() == 1);
  one.choose = "many";
  CHECK(read_node_data(state.now(), one).error().code == Errc::invalid_argument);
}

TEST_CASE("node_data: a digest changes with what is there, and only then") {
  Data state;
  const auto nothing = state.digest(app);
  CHECK(nothing != 0);
  state.put_variable("app");
  const auto there = state.digest(app);
  CHECK(there != nothing);
  state.put_variable("app/db");
  CHECK(state.digest(app) == there);
  state.put_variable("app");
  CHECK(state.digest(app) != there);
}

TEST_CASE("node_data: variables are listed by their beginning, in one namespace or in all") {
  Data state;
  state.put_variable("app/a");
  state.put_variable("app/b");
  state.put_variable("apple");
  CHECK(state.read(below_app).variables.size() == 2);
  CHECK(state.read({.kind = Kind::variables, .name_space = "*", .name = "app"}).variables.size()
        == 3);
  CHECK(state.read({.kind = Kind::variables, .name_space = "other"}).variables.empty());
}

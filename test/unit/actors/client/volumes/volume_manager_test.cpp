// The volume manager with plugins and servers that are pretended.
#include "actors/client/volumes/volume_manager.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/storage/client_store.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::client;
using namespace std::chrono_literals;
using Method = schema::csi::Method;

namespace {

/// What plugins do; they answer in the next turn.
class FakeCalls final : public csi::PluginCalls {
public:
  Number ask(Method method,
             const std::string& socket,
             std::chrono::milliseconds,
             const Fill& fill,
             Turns turns,
             Then then) override {
    Draft<schema::csi::Call> call;
    fill(*call);
    asked.push_back(fmt::format("{} {}{}", static_cast<int>(method),
                                view(call.reader().getTargetPath()),
                                view(call.reader().getStagingPath())));
    methods.push_back(method);
    static_cast<void>(socket);
    csi::Outcome outcome;
    if (const auto found = failures.find(method); found != failures.end())
      outcome.failure = found->second;
    else
      outcome.answer = answer(method, call.reader());
    turns.post([then = std::move(then), outcome] { then(outcome); });
    return ++last_;
  }

  void cancel(Number) override {}

  std::map<Method, csi::Failure> failures;
  std::vector<std::string> asked;
  std::vector<Method> methods;
  std::set<std::string> mounted;
  bool lies = false;  ///< It says that it has published, and has not.
  bool confirms = true;

private:
  csi::Answer answer(Method method, schema::csi::Call::Reader call) {
    Draft<schema::csi::Answer> draft;
    draft->setReady(true);
    draft->setName("fake");
    draft->setNodeId("n1");
    draft->setCapabilities(0b1010);  // stages, expands
    draft->setIsConfirmed(confirms);
    draft->setMessage("it is a tape");
    if (method == Method::CREATE_VOLUME) draft->initVolumes(1)[0].setId("ext-new");
    if (method == Method::NODE_EXPAND_VOLUME) draft->setCapacityBytes(9);
    if (method == Method::NODE_PUBLISH_VOLUME && !lies) mounted.insert(copy(call.getTargetPath()));
    if (method == Method::NODE_UNPUBLISH_VOLUME) mounted.erase(copy(call.getTargetPath()));
    return draft.freeze();
  }

  Number last_ = 0;
};

struct VolumeManagerFixture : test::ActorFixture {
  test::TempDir dir;
  std::shared_ptr<FakeCalls> calls = std::make_shared<FakeCalls>();
  std::shared_ptr<storage::ClientStore> store = std::make_shared<storage::ClientStore>(
      storage::ClientStore::open(dir.file("state.db")).value());
  std::function<Result<door::Reply>(const door::Ask&)> servers;
  std::vector<std::string> released;
  Recorder<volume_manager::Changed> changes = record<volume_manager::Changed>();
  VolumeManager manager;

  VolumeManagerFixture() {
    servers = [this](const door::Ask& ask) -> Result<door::Reply> {
      if (ask->isUnpublishVolume()) {
        released.push_back(ask->getUnpublishVolume().getDetached() ? "detached" : "out of use");
        return door::done(1);
      }
      return claim();
    };
  }

  static door::Reply claim() {
    Draft<schema::CsiVolume> volume;
    volume->setId("data");
    volume->setExternalId("ext");
    volume->setPluginId("p");
    return door::make_reply(1, [](auto& reply) { reply.initClaimedVolume(); }, {volume.freeze()});
  }

  void start() {
    using Asked = NodeDoor;
    const auto door = adopt(actor::spawn(system(), [this](Asked::pointer) -> Asked::behavior_type {
      return {[this](const door::Ask& ask) { return actor::answer(servers(ask)); }};
    }));
    using Parent = VolumeManagerParent;
    const auto parent = adopt(actor::spawn(
        system(), [handle = changes.handle](Parent::pointer self) -> Parent::behavior_type {
          return {[self, handle](const volume_manager::Changed& msg) { self->send(handle, msg); },
                  [](const volume_manager::Happened&) {}};
        }));
    manager = adopt(spawn_volume_manager(
        system(),
        {.node_id = "node",
         .root = dir.file("csi"),
         .servers = door,
         .db = adopt(spawn_client_db_inline(system(), store)),
         .steps = adopt(spawn_inline_blocking_pool(system())),
         .calls = calls,
         .unix_now = [] { return std::int64_t{1}; },
         .parent = parent,
         .mounts
         = {.is_mounted = [this](const std::string& path) { return calls->mounted.contains(path); },
            .clear =
                [this](const std::string& path) {
                  calls->mounted.erase(path);
                  return Result<>{};
                }}}));
    settle();
  }

  void start_plugin() {
    const auto directory = plugin_directory(dir.file("csi"), "monolith", "p");
    tell(manager, volume_manager::Started{{.alloc = "plug",
                                           .task = "t",
                                           .id = "p",
                                           .is_node = true,
                                           .is_controller = true,
                                           .socket = "/s",
                                           .directory = directory,
                                           .base = directory,
                                           .health_timeout = 30s},
                                          {}});
  }

  static volume_manager::Acquire spec(const std::string& alloc, const std::string& usage = "rw") {
    return {alloc,
            {{.alias = "v",
              .spec = {.alloc = alloc, .ns = "default", .volume = "data", .usage = usage}}}};
  }

  Answer<volume_manager::Acquired> acquire(const std::string& alloc) {
    return ask<volume_manager::Acquired>(manager, spec(alloc));
  }

  void drop(const std::string& alloc) {
    CHECK(ask<volume_manager::Done>(manager, volume_manager::Drop{alloc})->value().has_value());
  }

  template <class Fill>
  Result<door::NodeReply> question(Fill fill) {
    return **ask<door::NodeReply>(
        manager, door::make_node_ask("node", access::Principal::cluster("volumes"), fill));
  }

  Result<door::NodeReply> controller(
      const std::function<void(schema::door::CsiControllerCall::Builder)>& fill) {
    return question([&](auto& ask) {
      auto call = ask.initCsiController();
      call.setPluginId("p");
      fill(call);
    });
  }

  std::size_t rows() {
    std::size_t count = 0;
    CHECK(store
              ->scan(storage::Bucket::csi_volume, "",
                     [&](std::string_view, Result<std::string_view>) {
                       ++count;
                       return Result<>{};
                     })
              .has_value());
    return count;
  }
};

}  // namespace

TEST_CASE_FIXTURE(VolumeManagerFixture,
                  "volume_manager: a volume is mounted, used and given back") {
  start();
  start_plugin();
  CHECK(changes.seen->back().standings->nodes.at("p").healthy);
  const auto mounted = acquire("a");
  REQUIRE(mounted->value().has_value());
  const auto path = (*mounted)->value().volumes.front().path;
  CHECK(path == dir.file("csi/monolith/p/per-alloc/a/data/rw"));
  CHECK(calls->mounted == std::set<std::string>{path});
  CHECK(rows() == 1);

  drop("a");

  CHECK(calls->mounted.empty());
  CHECK(released == std::vector<std::string>{"detached"});
  CHECK(calls->methods.back() == Method::NODE_UNSTAGE_VOLUME);
}

TEST_CASE_FIXTURE(VolumeManagerFixture,
                  "volume_manager: the next one finds what is mounted, and asks nobody") {
  start();
  start_plugin();
  REQUIRE(acquire("a")->value().has_value());
  storage::ClientBatch batch;
  batch.put(storage::Bucket::alloc, "a", "x");
  CHECK(store->commit(batch).has_value());
  actor::kill(manager);
  settle();

  start();

  CHECK(acquire("a")->value().has_value());
  CHECK(std::ranges::count(calls->methods, Method::NODE_PUBLISH_VOLUME) == 1);
  CHECK(calls->mounted.size() == 1);
}

TEST_CASE_FIXTURE(VolumeManagerFixture,
                  "volume_manager: refusals of servers and plugins are told") {
  start();
  start_plugin();
  servers = [](const door::Ask& ask) -> Result<door::Reply> {
    if (ask->isUnpublishVolume()) return door::done(1);
    return Error{Errc::not_found, "volume not found: data"};
  };
  CHECK(acquire("a")->value().error().what
        == "claiming volumes: could not claim volume data: volume not found: data");
  servers = [](const door::Ask&) -> Result<door::Reply> { return door::done(1); };
  CHECK(acquire("b")->value().error().what
        == "claiming volumes: could not claim volume data: servers have answered something else");
  servers = [](const door::Ask& ask) -> Result<door::Reply> {
    return ask->isUnpublishVolume() ? door::done(1) : claim();
  };
  calls->lies = true;
  CHECK(
      acquire("c")->value().error().what
      == fmt::format("mounting volumes: the node plugin says that it has published the volume, and "
                     "nothing is mounted at {}",
                     dir.file("csi/monolith/p/per-alloc/c/data/rw")));
  calls->lies = false;
  calls->failures[Method::NODE_STAGE_VOLUME] = {csi::Cause::internal, "no disk"};
  CHECK(acquire("d")->value().error().what
        == "mounting volumes: node plugin returned an internal error, check the plugin allocation logs "
           "for more information: rpc error: code = Internal desc = no disk");
  CHECK(rows() == 0);
}

TEST_CASE_FIXTURE(VolumeManagerFixture,
                  "volume_manager: without its plugin a volume waits, a minute at most") {
  start();
  const auto mounted = acquire("a");
  CHECK_FALSE(mounted->has_value());
  CHECK(acquire("a")->value().error().what == "its volumes are being mounted already");
  advance(61s);
  CHECK(mounted->value().error().what
        == "mounting volumes: CSI plugin p is not healthy on this node");
}

TEST_CASE_FIXTURE(VolumeManagerFixture,
                  "volume_manager: what is not wanted any more is cancelled") {
  start();
  const auto withdrawn = acquire("a");
  tell(manager, volume_manager::Withdraw{"a"});
  CHECK(withdrawn->value().error() == Error{Errc::cancelled, "it is not wanted any more"});
  const auto dropped = acquire("b");
  drop("b");
  CHECK(dropped->value().error() == Error{Errc::cancelled, "its allocation is over"});
}

TEST_CASE_FIXTURE(
    VolumeManagerFixture,
    "volume_manager: an allocation has a volume in one way, and not while it gives it back") {
  start();
  start_plugin();
  REQUIRE(acquire("a")->value().has_value());
  CHECK(ask<volume_manager::Acquired>(manager, spec("a", "ro"))->value().error().what
        == "the group asks for volume data in two ways");
  calls->failures[Method::NODE_UNPUBLISH_VOLUME] = {csi::Cause::internal, "busy"};
  drop("a");
  CHECK(released == std::vector<std::string>{"out of use"});
  CHECK(acquire("a")->value().error().what == "volume data is being given back by this allocation");
  calls->failures.clear();
  advance(2s);
  CHECK(released.back() == "detached");
}

TEST_CASE_FIXTURE(
    VolumeManagerFixture,
    "volume_manager: a controller does what servers ask, and errors have Nomad's words") {
  start();
  const auto detach = [](auto call) { call.initDetach().setExternalId("ext"); };
  CHECK(controller(detach).error()
        == Error{Errc::not_found, "no healthy controller p on this node"});
  start_plugin();
  CHECK(controller(detach)->operator->()->getCsiController().isDone());
  const auto created = controller([](auto call) { call.initCreate().setName("new"); });
  CHECK(view((*created)->getCsiController().getCreated().getExternalId()) == "ext-new");
  calls->failures[Method::CREATE_VOLUME] = {csi::Cause::exhausted, "full"};
  CHECK(controller([](auto call) { call.initCreate().setName("new"); }).error()
        == Error{
            Errc::too_large,
            "CSI.ControllerCreateVolume: unable to provision \"new\" in accessible_topology: rpc "
            "error: code = ResourceExhausted desc = full"});
  calls->failures[Method::CONTROLLER_UNPUBLISH_VOLUME] = {csi::Cause::not_found, "gone"};
  CHECK(controller(detach).has_value());
  calls->confirms = false;
  CHECK(controller([](auto call) { call.initValidate().setExternalId("x"); }).error().what
        == "CSI.ControllerValidateVolume: volume is not compatible with the volume capabilities: it is "
           "a tape");
}

TEST_CASE_FIXTURE(VolumeManagerFixture,
                  "volume_manager: servers have volumes expanded and taken down") {
  start();
  start_plugin();
  const auto expand = [this] {
    return question([](auto& ask) {
      auto call = ask.initCsiNode();
      call.setPluginId("p");
      call.setVolumeId("data");
      call.initClaim().setAllocId("a");
      call.initExpand();
    });
  };
  const auto detach = [this] {
    return question([](auto& ask) {
      auto call = ask.initCsiNode();
      call.setPluginId("p");
      call.setVolumeId("data");
      call.setNamespace("default");
      call.initClaim().setAllocId("a");
      call.setDetach();
    });
  };
  CHECK(expand().error().what == "the volume is not mounted for that allocation");
  CHECK(detach().has_value());
  REQUIRE(acquire("a")->value().has_value());
  CHECK(expand().value()->getCsiNode().getCapacity() == 9);
  CHECK(detach().error() == Error{Errc::conflict, "allocation a uses it"});
  tell(manager, volume_manager::Exited{"plug/t"});
  CHECK(expand().error() == Error{Errc::unavailable, "no healthy node plugin p on this node"});
  CHECK(changes.seen->back().standings->nodes.at("p").description
        == "CSI plugin failed probe: its task has exited");
}

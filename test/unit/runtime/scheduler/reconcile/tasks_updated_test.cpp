#include "runtime/scheduler/reconcile/tasks_updated.hpp"

#include <map>
#include <string>

#include <capnp/dynamic.h>

#include "runtime/object/annotations.hpp"
#include "schema/annotations.capnp.h"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(Harness, "which changes need new allocations") {
  const auto before = make_job(1);
  const auto needs = [&](const EditJob& edit) {
    const auto after = make_job(1, edit);
    return tasks_updated(*before, *after, "api");
  };
  CHECK_FALSE(needs([](schema::Job::Builder) {}));
  const auto group = [](schema::Job::Builder job) { return job.getTaskGroups()[0]; };
  const auto task = [&](schema::Job::Builder job) { return group(job).getTasks()[0]; };
  // In place.
  CHECK_FALSE(needs([&](auto job) { task(job).setKillTimeout(9); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initLogConfig().setMaxFiles(3); }));
  CHECK_FALSE(needs([&](auto job) { task(job).setLeader(true); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initLifecycle().setHook("prestart"); }));
  CHECK_FALSE(needs([&](auto job) { group(job).setCount(7); }));
  CHECK_FALSE(needs([&](auto job) { group(job).initUpdate().setMaxParallel(2); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initServices(1)[0].setName("s"); }));
  CHECK_FALSE(needs([&](auto job) { job.initConstraints(1)[0].setOperand("is_set"); }));
  CHECK_FALSE(needs([&](auto job) { job.setPriority(70); }));
  // Destructive.
  CHECK(needs([&](auto job) { task(job).setDriver("exec"); }));
  CHECK(needs([&](auto job) { task(job).setUser("nobody"); }));
  CHECK(needs([&](auto job) { task(job).setConfig(R"({"a":1})"); }));
  CHECK(needs([&](auto job) { task(job).setName("other"); }));
  CHECK(needs([&](auto job) { task(job).getResources().setCpu(501); }));
  CHECK(needs([&](auto job) { task(job).initLogConfig().setDisabled(true); }));
  CHECK(needs([&](auto job) { task(job).initIdentity().setEnv(true); }));
  CHECK(needs([&](auto job) { task(job).initTemplates(1)[0].setDestPath("x"); }));
  CHECK(needs([&](auto job) { group(job).getEphemeralDisk().setSticky(true); }));
  CHECK(needs([&](auto job) { job.initAffinities(1)[0].setWeight(5); }));
  CHECK(needs([&](auto job) { group(job).initSpreads(1)[0].setWeight(5); }));
  CHECK(needs([&](auto job) { group(job).initNetworks(1)[0].setMode("bridge"); }));
  CHECK(needs([&](auto job) { job.initMeta(1)[0].setKey("k"); }));
}

TEST_CASE_FIXTURE(Harness, "what is absent in one and empty in the other changes nothing") {
  const auto filled = make_job(1, [](schema::Job::Builder job) {
    auto group = job.getTaskGroups()[0];
    auto task = group.getTasks()[0];
    task.initArtifacts(1)[0].setGetterSource("s");
    task.initTemplates(1)[0].setDestPath("d");
    group.initNetworks(1)[0].setMode("host");
  });
  Draft<schema::Job> emptied{filled};
  auto group = emptied->getTaskGroups()[0];
  auto task = group.getTasks()[0];
  task.setUser("");
  task.initScalingPolicies(0);
  task.getArtifacts()[0].initGetterOptions(0);
  task.getTemplates()[0].setChangeSignal("");
  group.getNetworks()[0].initDns().initServers(0);
  CHECK_FALSE(tasks_updated(*filled, emptied.reader(), "api"));
  task.getTemplates()[0].setChangeSignal("SIGHUP");
  CHECK(tasks_updated(*filled, emptied.reader(), "api"));
}

TEST_CASE_FIXTURE(Harness, "a key that moves between levels of meta changes nothing") {
  const auto with_meta = [this](bool on_job) {
    return make_job(1, [on_job](schema::Job::Builder job) {
      auto task = job.getTaskGroups()[0].getTasks()[0];
      auto meta = on_job ? job.initMeta(1)[0] : task.initMeta(1)[0];
      meta.setKey("k");
      meta.setValue("v");
    });
  };
  CHECK_FALSE(tasks_updated(*with_meta(true), *with_meta(false), "api"));
}

TEST_CASE_FIXTURE(Harness, "ports: whether a static one is shared counts") {
  const auto with_port = [this](bool is_shared) {
    return make_job(1, [is_shared](schema::Job::Builder job) {
      auto port = job.getTaskGroups()[0].initNetworks(1)[0].initReservedPorts(1)[0];
      port.setLabel("http");
      port.setValue(8080);
      port.setIgnoreCollision(is_shared);
    });
  };
  CHECK(tasks_updated(*with_port(false), *with_port(true), "api"));
  CHECK_FALSE(tasks_updated(*with_port(true), *with_port(true), "api"));
}

TEST_CASE_FIXTURE(Harness, "ports: values of dynamic ones do not count, labels do") {
  const auto with_port = [this](const char* label, int value) {
    return make_job(1, [&](schema::Job::Builder job) {
      auto port = job.getTaskGroups()[0].initNetworks(1)[0].initDynamicPorts(1)[0];
      port.setLabel(label);
      port.setValue(value);
    });
  };
  CHECK_FALSE(tasks_updated(*with_port("a", 1), *with_port("a", 2), "api"));
  CHECK(tasks_updated(*with_port("a", 1), *with_port("b", 1), "api"));
}

TEST_CASE_FIXTURE(Harness, "networks: each counts, and each of what is asked of it") {
  using EditNetwork = std::function<void(schema::NetworkResource::Builder)>;
  const auto with_networks = [this](const EditNetwork& edit) {
    return make_job(1, [&](schema::Job::Builder job) {
      auto networks = job.getTaskGroups()[0].initNetworks(2);
      networks[1].setMode("host");
      edit(networks[1]);
    });
  };
  const auto before = with_networks([](auto) {});
  const auto needs = [&](const EditNetwork& edit) {
    return tasks_updated(*before, *with_networks(edit), "api");
  };
  CHECK_FALSE(needs([](auto) {}));
  CHECK(needs([](auto network) { network.setMode("bridge"); }));
  CHECK(needs([](auto network) { network.setMBits(10); }));
  CHECK(needs([](auto network) { network.setHostname("h"); }));
  CHECK(needs([](auto network) { network.initDns().initServers(1).set(0, "10.0.0.1"); }));
  CHECK(needs([](auto network) { network.initReservedPorts(1)[0].setValue(80); }));
}

TEST_CASE_FIXTURE(Harness, "lists of one length are compared by what is in them") {
  const auto with_template = [this](const char* path) {
    return make_job(1, [path](schema::Job::Builder job) {
      job.getTaskGroups()[0].getTasks()[0].initTemplates(1)[0].setDestPath(text(std::string{path}));
    });
  };
  CHECK_FALSE(tasks_updated(*with_template("a"), *with_template("a"), "api"));
  CHECK(tasks_updated(*with_template("a"), *with_template("b"), "api"));
}

TEST_CASE_FIXTURE(Harness, "a group that only one version has needs new allocations") {
  const auto other
      = make_job(1, [](schema::Job::Builder job) { job.getTaskGroups()[0].setName("other"); });
  CHECK(tasks_updated(*make_job(1), *other, "api"));
  CHECK(tasks_updated(*make_job(1), *other, "other"));
}

// ---- walking the schema: one field after the other is changed, so that none is forgotten

namespace {

using Field = capnp::StructSchema::Field;

/// What tasks_updated judges by itself, and whether what `change` does is destructive there.
const std::map<std::string, bool> special{
    {"group.name", true},       {"group.tasks", true},
    {"group.affinities", true}, {"group.spreads", true},
    {"group.networks", true},   {"group.meta", true},
    {"group.services", false},  // without Connect
    {"task.name", true},        {"task.affinities", true},
    {"task.meta", true},        {"task.resources.networks", true},
};

schema::Update update_of(Field field) {
  const auto said = object::Annotations{field.getProto()}.find(object::Annotation::update);
  return said ? static_cast<schema::Update>(said->getEnum()) : schema::Update::DESTRUCTIVE;
}

/// Gives the field another value than it has.
void change(capnp::DynamicStruct::Builder in, Field field) {
  using Which = capnp::schema::Type::Which;
  const auto type = field.getType();
  switch (type.which()) {
    case Which::TEXT:
      return in.set(field, "other");
    case Which::DATA:
      return in.set(field, capnp::Data::Reader{reinterpret_cast<const kj::byte*>("other"), 5});
    case Which::BOOL:
      return in.set(field, !in.get(field).as<bool>());
    case Which::STRUCT: {
      auto content = in.init(field).as<capnp::DynamicStruct>();
      return field.getProto().isGroup() ? content.set("value", 7)
                                        : change(content, content.getSchema().getFields()[0]);
    }
    case Which::LIST: {
      auto list = in.init(field, 1).as<capnp::DynamicList>();
      if (type.asList().whichElementType() == Which::TEXT) return list.set(0, "other");
      auto element = list[0].as<capnp::DynamicStruct>();
      return change(element, element.getSchema().getFields()[0]);
    }
    default:
      return in.set(field, in.get(field).as<std::int64_t>() + 1);
  }
}

struct Walk : Harness {
  enum class Where { group, task };

  capnp::DynamicStruct::Builder root(schema::Job::Builder job, Where where) {
    auto group = job.getTaskGroups()[0];
    if (where == Where::group) return group;
    return group.getTasks()[0];
  }

  /// Whether tasks_updated sees a change of the field at the end of `path`.
  bool is_destructive(Where where, const std::vector<Field>& path) {
    const auto before = make_job(1);
    const auto after = make_job(1, [&](schema::Job::Builder job) {
      auto at = root(job, where);
      for (std::size_t i = 0; i + 1 < path.size(); ++i)
        at = at.get(path[i]).as<capnp::DynamicStruct>();
      change(at, path.back());
    });
    return scheduler::tasks_updated(*before, *after, "api");
  }

  void visit(Where where, capnp::StructSchema schema, std::vector<Field> path, std::string name) {
    for (const auto field : schema.getFields()) {
      const std::string place = name + "." + field.getProto().getName().cStr();
      CAPTURE(place);
      path.push_back(field);
      const auto update = update_of(field);
      const bool nested = field.getType().isStruct() && !field.getProto().isGroup();
      if (update == schema::Update::SPECIAL) {
        REQUIRE(special.contains(place));
        CHECK(is_destructive(where, path) == special.at(place));
        ++specials_;
      } else if (nested && update == schema::Update::DESTRUCTIVE) {
        visit(where, field.getType().asStruct(), path, place);
      } else {
        CHECK(is_destructive(where, path) == (update == schema::Update::DESTRUCTIVE));
      }
      path.pop_back();
    }
  }

  std::size_t specials_ = 0;
};

}  // namespace

TEST_CASE_FIXTURE(Walk, "every field of a group and a task is judged as the schema says") {
  visit(Where::group, capnp::Schema::from<schema::TaskGroup>(), {}, "group");
  visit(Where::task, capnp::Schema::from<schema::Task>(), {}, "task");
  CHECK(specials_ == special.size());
}

TEST_CASE_FIXTURE(Harness, "of a service only Connect makes new allocations necessary") {
  const auto with_connect = [this](const char* connect) {
    return make_job(1, [&](schema::Job::Builder job) {
      auto service = job.getTaskGroups()[0].initServices(1)[0];
      service.setName("s");
      service.setConnect(connect);
    });
  };
  CHECK(scheduler::tasks_updated(*with_connect(""), *with_connect("{}"), "api"));
  CHECK_FALSE(scheduler::tasks_updated(*with_connect("{}"), *with_connect("{}"), "api"));
  // As an older release has stored it.
  const auto now = with_connect(R"({"Native":false,"SidecarService":{"Port":"a","Tags":null}})");
  const auto says = [&](const char* connect) {
    return !scheduler::tasks_updated(*with_connect(connect), *now, "api");
  };
  CHECK(says(R"({"SidecarService": {"Tags":[],"Port":"a"}, "Native":false})"));
  CHECK_FALSE(says(R"({"Native":false,"SidecarService":{"Port":"a","Tags":["b"]}})"));
  CHECK_FALSE(says(R"({"Native":false,"SidecarService":{"Port":"b","Tags":null}})"));
  CHECK_FALSE(says("no JSON"));
}

#include "runtime/plugin/declared.hpp"

#include <functional>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;

namespace {

using Declaration = schema::plugin::Declaration;

std::string refusal(const std::function<void(Declaration::Builder)>& change) {
  Draft<Declaration> draft;
  draft->setLinkVersion(1);
  draft->setName("stamp");
  auto hook = draft->initHooks(1)[0];
  hook.setName("stamp");
  hook.initPhases(1).set(0, schema::plugin::Phase::PRESTART);
  change(*draft);
  const auto outcome = plugin::check_declaration(draft.reader(), "stamp");
  return outcome ? "" : outcome.error().what;
}

}  // namespace

TEST_CASE("declared: what is right is taken") {
  CHECK(refusal([](auto) {}).empty());
}

TEST_CASE("declared: another version of the protocol, and another name, are refused") {
  CHECK(refusal([](auto is) { is.setLinkVersion(2); }).find("version 2") != std::string::npos);
  CHECK(refusal([](auto is) { is.setName("other"); }).find("calls itself \"other\"")
        != std::string::npos);
}

TEST_CASE("declared: names are of the grammar, and none comes twice") {
  CHECK_FALSE(refusal([](auto is) { is.getHooks()[0].setName("../x"); }).empty());
  CHECK_FALSE(refusal([](auto is) { is.initDrivers(1).set(0, ""); }).empty());
  CHECK(refusal([](auto is) {
          auto drivers = is.initDrivers(2);
          drivers.set(0, "naps");
          drivers.set(1, "naps");
        }).find("two drivers")
        != std::string::npos);
}

TEST_CASE("declared: times end, and what is shown can be shown") {
  CHECK_FALSE(refusal([](auto is) { is.getHooks()[0].setPatience(INT64_MAX); }).empty());
  CHECK_FALSE(refusal([](auto is) {
                auto each = is.initFingerprinters(1)[0];
                each.setName("f");
                each.setInterval(INT64_MAX);
              }).empty());
  CHECK_FALSE(refusal([](auto is) { is.setVersion("1.0\x1b[2J"); }).empty());
}

TEST_CASE("declared: there are bounds to how much there is of a kind") {
  CHECK(refusal([](auto is) {
          auto actors = is.initActors(plugin::most_of_a_kind + 1);
          for (unsigned i = 0; i < actors.size(); ++i)
            actors.set(i, "a" + std::to_string(i));
        }).find("more than")
        != std::string::npos);
  CHECK_FALSE(refusal([](auto is) {
                auto fields = is.initConfig(plugin::most_fields + 1);
                for (unsigned i = 0; i < fields.size(); ++i)
                  fields[i].setName("f" + std::to_string(i));
              }).empty());
}

TEST_CASE("declared: a scheduler has a type of its own, and reads facts of nodes") {
  const auto reads = [](const char* type, const std::vector<std::string>& targets) {
    return refusal([&](auto is) {
      auto each = is.initSchedulers(1)[0];
      each.setType(type);
      auto to = each.initReads(static_cast<unsigned>(targets.size()));
      for (unsigned i = 0; i < to.size(); ++i)
        to.set(i, targets[i]);
    });
  };
  CHECK(reads("labels", {"${meta.label}", "${attr.kernel.name}"}).empty());
  CHECK(reads("service", {}).find("scheduled by the servers") != std::string::npos);
  CHECK_FALSE(reads("_core", {}).empty());
  for (const auto* target : {"meta.label", "${}", "${a}b", "${a}${b}", "${a\n}"})
    CHECK_FALSE(reads("labels", {target}).empty());
  CHECK_FALSE(
      reads("labels", std::vector<std::string>(plugin::most_reads + 1, "${meta.a}")).empty());
}

TEST_CASE("declared: a provider of services has a name of its own") {
  const auto provides = [](const std::vector<std::string>& names) {
    return refusal([&](auto is) {
      auto list = is.initServiceProviders(static_cast<unsigned>(names.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list[i].setName(names[i]);
    });
  };
  CHECK(provides({"filesd", "other"}).empty());
  CHECK(provides({"consul"}).find("is built in") != std::string::npos);
  CHECK(provides({"nomad"}).find("is built in") != std::string::npos);
  CHECK(provides({"a", "a"}).find("two provider") != std::string::npos);
  CHECK_FALSE(provides({"File SD"}).empty());
}

TEST_CASE("declared: a hook is asked in phases that there are") {
  CHECK_FALSE(refusal([](auto is) { is.getHooks()[0].initPhases(0); }).empty());
  CHECK_FALSE(refusal([](auto is) {
                is.getHooks()[0].initPhases(1).set(0, static_cast<schema::plugin::Phase>(99));
              }).empty());
  CHECK_FALSE(refusal([](auto is) { is.getHooks()[0].setPatience(-1); }).empty());
}

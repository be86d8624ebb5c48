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

TEST_CASE("declared: what is nonsense is said whole") {
  using Is = Declaration::Builder;
  const auto nonsense = [](const std::function<void(Is)>& change) {
    const auto said = refusal(change);
    const std::string begin = "it declares nonsense: ";
    return said.starts_with(begin) ? said.substr(begin.size()) : said;
  };
  CHECK(nonsense([](Is is) { is.setLinkVersion(2); })
        == "it speaks version 2 of the protocol, this agent 1");
  CHECK(nonsense([](Is is) { is.setName("other"); })
        == "it calls itself \"other\", and its file is that of \"stamp\"");
  CHECK(nonsense([](Is is) { is.setVersion("1.0\x1b[2J"); })
        == "its version is too long, or can't be shown");
  CHECK(nonsense([](Is is) { is.initDrivers(1).set(0, "a b"); })
        == "\"a b\" can't be the name of a driver: [a-z][a-z0-9_-]*");
  CHECK(nonsense([](Is is) { is.initConfig(1)[0].setName(""); })
        == "a field of its configuration is named \"\": expected 1 to 256 bytes that can be "
"shown");
  CHECK(nonsense([](Is is) {
          for (auto field : is.initConfig(2))
            field.setName("x");
        })
        == "two fields of its configuration are named \"x\"");
  CHECK(nonsense([](Is is) {
          auto field = is.initConfig(1)[0];
          field.setName("x");
          field.setKind(static_cast<schema::plugin::ConfigField::Kind>(99));
        })
        == "config.x has a kind that this agent does not know");
  CHECK(nonsense([](Is is) { is.getHooks()[0].initPhases(0); })
        == "hook \"stamp\" is asked in no phase");
  CHECK(nonsense([](Is is) {
          is.getHooks()[0].initPhases(1).set(0, static_cast<schema::plugin::Phase>(99));
        })
        == "hook \"stamp\" has a phase that this agent does not know");
  CHECK(nonsense([](Is is) { is.getHooks()[0].setPatience(-1); })
        == "the patience of hook \"stamp\" is not between 0 and a year");
  CHECK(nonsense([](Is is) { is.getHooks()[0].setMeta(std::string(4096, 'x')); })
        == "a text of hook \"stamp\" is too long");
  CHECK(nonsense([](Is is) {
          auto each = is.initFingerprinters(1)[0];
          each.setName("f");
          each.setInterval(-1);
        })
        == "the interval of fingerprinter \"f\" is not between 0 and a year");
  CHECK(nonsense([](Is is) { is.initSchedulers(1)[0].setType("batch"); })
        == "jobs of type \"batch\" are scheduled by the servers");
  CHECK(nonsense([](Is is) {
          auto each = is.initSchedulers(1)[0];
          each.setType("labels");
          each.initReads(1).set(0, "rack");
        })
        == "the scheduler of type \"labels\" reads \"rack\": expected one such as ${meta.rack}");
  CHECK(nonsense([](Is is) { is.initServiceProviders(1)[0].setName("consul"); })
        == "the provider \"consul\" is built in");
}

TEST_CASE("declared: configurations are bounded, and say so") {
  CHECK(refusal([](auto is) {
          auto fields = is.initConfig(plugin::most_fields + 1);
          for (unsigned i = 0; i < fields.size(); ++i)
            fields[i].setName("f" + std::to_string(i));
        })
        == "it declares nonsense: its configuration has more than "
               + std::to_string(plugin::most_fields) + " fields");
  CHECK(refusal([](auto is) {
          auto fields = is.initConfig(1);
          for (int depth = 0; depth < 40; ++depth) {
            fields[0].setName("x");
            fields = fields[0].initFields(1);
          }
          fields[0].setName("x");
        })
        == "it declares nonsense: its configuration is nested too deeply");
}

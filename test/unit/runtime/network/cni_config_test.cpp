// Configurations of CNI networks: what is read of them, and the one of the bridge mode.
#include "runtime/network/cni_config.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::network;

TEST_CASE("cni config: the bridge mode's is Nomad's") {
  CHECK(
      bridge_config({.name = "br7", .subnet = "10.7.0.0/24", .hairpin_mode = true})
      == R"({"cniVersion":"0.4.0","name":"nomad","plugins":[{"type":"loopback"},)"
         R"({"type":"bridge","bridge":"br7","ipMasq":true,"isGateway":true,"forceAddress":true,)"
         R"("hairpinMode":true,"ipam":{"type":"host-local","ranges":[[{"subnet":"10.7.0.0/24"}]],)"
         R"("routes":[{"dst":"0.0.0.0/0"}]}},)"
         R"({"type":"firewall","backend":"iptables","iptablesAdminChainName":"NOMAD-ADMIN"},)"
         R"({"type":"portmap","capabilities":{"portMappings":true},"snat":true}]})");
  const auto network = parse_cni_network(bridge_config({}), true);
  REQUIRE(network);
  CHECK(network->name == "nomad");
  CHECK(network->can_check());
  REQUIRE(network->plugins.size() == std::size(bridge_plugins));
  for (std::size_t i = 0; i < std::size(bridge_plugins); ++i)
    CHECK(network->plugins[i].type == bridge_plugins[i]);
}

TEST_CASE("cni config: a file of one plugin is a list of one, and CHECK comes with version 0.4") {
  const auto single = parse_cni_network(
      R"({"cniVersion":"0.3.1","name":"one","type":"macvlan","master":"e"})", false);
  REQUIRE(single);
  CHECK(single->plugins.size() == 1);
  CHECK(single->plugins[0].type == "macvlan");
  CHECK_FALSE(single->can_check());

  const auto list = [](const char* head) {
    return parse_cni_network(std::string{head} + R"(,"name":"n","plugins":[{"type":"a"}]})", true)
        .value();
  };
  CHECK(list(R"({"cniVersion":"1.0.0")").can_check());
  CHECK_FALSE(list(R"({"cniVersion":"0.4.0","disableCheck":true)").can_check());
  CHECK_FALSE(list(R"({"x":1)").can_check());  // Without a version it is of the first one.
}

TEST_CASE("cni config: what is wrong with a file is said") {
  const auto problem = [](const char* text, bool is_list) {
    return parse_cni_network(text, is_list).error().what;
  };
  CHECK(problem("{", true).starts_with("no JSON"));
  CHECK(problem("[]", true) == "it is no JSON object");
  CHECK(problem(R"({"plugins":[{"type":"a"}]})", true) == "it has no \"name\"");
  CHECK(problem(R"({"name":"n","plugins":[{"type":"/bin/sh"}]})", true)
        == "the plugin's type \"/bin/sh\" is a path; it is the name of a program");
  CHECK(problem(R"({"name":"a","plugins":[]})", true) == "it lists no \"plugins\"");
  CHECK(problem(R"({"name":"a","plugins":[1]})", true) == "a plugin is no object");
  CHECK(problem(R"({"name":"a"})", false) == "a plugin has no \"type\"");
  CHECK(problem(R"({"name":"a","type":"../bin/sh"})", false).starts_with("the plugin's type"));
}

TEST_CASE("cni config: a network is found by its name, in the order of the files") {
  const std::vector<std::pair<std::string, std::string>> files{
      {"20.conf", R"({"name":"b","type":"second"})"},
      {"10.conflist", R"({"name":"b","plugins":[{"type":"first"}]})"}};
  CHECK(find_cni_network(files, "b", "/etc/cni")->plugins[0].type == "first");
  CHECK(find_cni_network(files, "c", "/etc/cni").error()
        == Error{Errc::not_found,
                 "CNI network config not found for name \"c\" in /etc/cni; client.cni_config_dir "
                 "says where they are"});
  CHECK(find_cni_network({{"a.conf", "{"}}, "c", "/etc/cni")
            .error()
            .what.starts_with("/etc/cni/a.conf: "));
  CHECK(is_cni_config("x.conflist"));
  CHECK_FALSE(is_cni_config("x.conf.bak"));
}

// What plugins are told and how their answers are read.
#include "runtime/network/cni_call.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/network/cni_fingerprint.hpp"

using namespace nomad;
using namespace nomad::network;

namespace {

CniNetwork bridge() {
  return parse_cni_network(bridge_config({}), true).value();
}

boost::json::object input_of(std::size_t plugin,
                             const std::vector<PortMapping>& mappings,
                             std::string_view previous) {
  const auto network = bridge();
  return boost::json::parse(cni_input(network, network.plugins[plugin], mappings, previous).value())
      .as_object();
}

NetworkStatus status(const char* text) {
  return status_of(parse_cni_result(text).value()).value();
}

}  // namespace

TEST_CASE("cni call: a plugin's environment is what the specification lists, and a path") {
  const CniTarget target{.container_id = "a1", .namespace_path = "/run/netns/a1"};
  CHECK(cni_environment(CniVerb::add, target, "/opt/cni/bin")
        == std::vector<std::string>{
            "CNI_COMMAND=ADD", "CNI_CONTAINERID=a1", "CNI_NETNS=/run/netns/a1", "CNI_IFNAME=eth0",
            "CNI_ARGS=IgnoreUnknown=1", "CNI_PATH=/opt/cni/bin",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"});

  auto again = target;
  again.wanted_ip = "172.26.64.9";
  const auto asks = [&again](CniVerb verb) {
    const auto environment = cni_environment(verb, again, "/");
    return std::ranges::find(environment, "CNI_ARGS=IgnoreUnknown=1;IP=172.26.64.9")
           != environment.end();
  };
  CHECK(asks(CniVerb::add));
  CHECK_FALSE(asks(CniVerb::del));
}

TEST_CASE("cni call: ports go to plugins that can map them, results to those that follow") {
  const std::vector<PortMapping> mappings{{20001, 80, "tcp", "", "http"},
                                          {53, 53, "udp", "10.0.0.7", "dns"}};
  const auto first = input_of(1, mappings, "");
  CHECK(first.at("name") == "nomad");
  CHECK(first.at("cniVersion") == "0.4.0");
  CHECK_FALSE(first.contains("runtimeConfig"));
  CHECK_FALSE(first.contains("prevResult"));

  const auto last = input_of(3, mappings, R"({"ips":[]})");
  CHECK_FALSE(last.contains("capabilities"));
  CHECK(boost::json::serialize(last.at("runtimeConfig"))
        == R"({"portMappings":[{"hostPort":20001,"containerPort":80,"protocol":"tcp"},)"
           R"({"hostPort":53,"containerPort":53,"protocol":"udp","hostIP":"10.0.0.7"}]})");
  CHECK(boost::json::serialize(last.at("prevResult")) == R"({"ips":[]})");
  CHECK(cni_input(bridge(), {"x", "[]"}, {}, "").error().what
        == "the configuration of the plugin x is no JSON object");
  CHECK(cni_input(bridge(), {"x", "{}"}, {}, "{").error().what
        == "the result of the plugins before it is no JSON");
}

TEST_CASE("cni call: results of all versions say where the allocation is") {
  CHECK(status(R"({"cniVersion":"0.4.0","interfaces":[{"name":"nomad","mac":"a"},{"name":"veth1"},
        {"name":"eth0","sandbox":"/run/netns/a"}],
        "ips":[{"version":"4","interface":2,"address":"172.26.64.2/20","gateway":"172.26.64.1"}],
        "dns":{"nameservers":["10.0.0.2"],"search":["a.b"],"options":["ndots:2"]}})")
        == NetworkStatus{"eth0", "172.26.64.2", {"10.0.0.2"}, {"a.b"}, {"ndots:2"}});
  CHECK(status(R"({"cniVersion":"1.0.0","interfaces":[{"name":"z0","sandbox":"/n"},
        {"name":"a0"}],"ips":[{"interface":1,"address":"10.0.0.1/8"},
        {"interface":0,"address":"fd00::2/64"}]})")
        == NetworkStatus{"z0", "fd00::2"});
  CHECK(status(R"({"cniVersion":"0.3.1","interfaces":[{"name":"b0"},{"name":"a0"}],
        "ips":[{"interface":0,"address":"10.0.0.1/8"},{"interface":1,"address":"10.0.0.2/8"}]})")
        == NetworkStatus{"a0", "10.0.0.2"});  // None in a sandbox: the first by name.
  CHECK(status(R"({"ips":[{"address":"10.0.0.3/8"}]})") == NetworkStatus{"eth0", "10.0.0.3"});
  CHECK(status(R"({"cniVersion":"0.2.0","ip4":{"ip":"10.1.2.3/24"}})")
        == NetworkStatus{"eth0", "10.1.2.3"});
}

TEST_CASE("cni call: nonsense in results is refused") {
  struct Case {
    const char* text;
    const char* error;
  };

  for (const auto& each : {Case{"[]", "the result is no JSON object"},
                           Case{R"({"ips":[1]})", "an address is no object"},
                           Case{R"({"ips":[{"address":"x"}]})", "\"x\" is no address"},
                           Case{R"({"interfaces":[1]})", "an interface is no object"},
                           Case{R"({"ip4":{"ip":"no"}})", "\"ip4\" has no address"},
                           Case{R"({"ips":[{"address":"10.0.0.1/8","interface":1}]})",
                                "the address 10.0.0.1 is of an interface that is not listed"},
                           Case{R"({"ips":[{"address":"10.0.0.1/8","interface":-1}]})",
                                "the address 10.0.0.1 is of an interface that is not listed"},
                           Case{R"({"ips":[{"address":"10.0.0.1/8","interface":"a"}]})",
                                "the address 10.0.0.1 is of an interface that is not listed"}}) {
    CAPTURE(each.text);
    CHECK(parse_cni_result(each.text).error().what == each.error);
  }
  CHECK(parse_cni_result("").has_error());
  CHECK(status_of(parse_cni_result(R"({"interfaces":[{"name":"eth0"}]})").value()).error().what
        == "the plugins made no interface with an address");
}

TEST_CASE("cni call: a failure says what the plugin said, and whether another try may do") {
  const auto failure = [](const char* output, const char* errors) {
    return cni_failure("bridge", CniVerb::add, 1, output, errors).error;
  };
  CHECK(failure(R"({"cniVersion":"1.0.0","code":7,"msg":"bad subnet","details":"10.0.0"})", "")
        == Error{Errc::rejected, "CNI plugin bridge failed at ADD: bad subnet; 10.0.0"});
  CHECK(failure(R"({"code":11,"msg":"later"})", "").code == Errc::unavailable);
  CHECK(failure(R"({"code":999,"msg":"no route"})", "").code == Errc::unavailable);
  CHECK(failure("", "panic: x\n").what
        == "CNI plugin bridge failed at ADD: exit code 1: \"panic: x\"");
  CHECK(failure("", "").what == "CNI plugin bridge failed at ADD: exit code 1");
  CHECK(failure("", std::string(10'000, 'x').c_str()).what.size() < 700);
}

TEST_CASE("cni call: which rules portmap could not check is known by its words") {
  using Cause = CniError::Cause;
  const auto cause = [](const char* output, const char* errors = "") {
    return cni_failure("portmap", CniVerb::check, 1, output, errors).cause;
  };
  // As portmap 1.1.1 says it, with the chain that it did not find.
  CHECK(cause(R"({"code":999,"msg":"could not check ipv6 dnat: no such chain"})")
        == Cause::ipv6_unchecked);
  CHECK(cause(R"({"code":999,"msg":"could not check ipv4 dnat: no such chain"})")
        == Cause::ipv4_unchecked);
  CHECK(cause("", "portmap: could not check ipv6 dnat") == Cause::ipv6_unchecked);
  CHECK(cause(R"({"code":999,"msg":"no such chain"})") == Cause::other);
}

TEST_CASE("cni plugins: a version is found in what they say of themselves") {
  CHECK(version_in("CNI bridge plugin v1.1.1\nCNI protocol versions supported: 0.1.0, 1.0.0\n")
        == "v1.1.1");
  CHECK(
      version_in("CNI bridge plugin version unknown\nCNI protocol versions supported: 0.1.0, 1.0.0")
      == "1.0.0");
  CHECK_FALSE(version_in("usage: it"));
}

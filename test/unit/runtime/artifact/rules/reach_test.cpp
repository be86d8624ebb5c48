#include "runtime/artifact/rules/reach.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;

namespace {

ReachJudge judge_of(const Reach& reach) {
  return {reach, {*ip_of("10.0.0.7"), *ip_of("2001:db8::7"), *ip_of("fe80::7")}};
}

const Reach usual{.agent_ports = {4646, 4647, 4648}, .agent_addresses = {"203.0.113.9"}};

std::string why(const Reach& reach, const char* ip, std::uint16_t port) {
  return judge_of(reach).refuses(ip_of(ip).value(), port).value_or("");
}

}  // namespace

TEST_CASE("artifact reach: the agent's ports at every address of the machine, in every writing") {
  for (const char* ip :
       {"127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "::127.0.0.1",
        "64:ff9b::7f00:1", "10.0.0.7", "::ffff:10.0.0.7", "2001:db8::7", "203.0.113.9"}) {
    CAPTURE(ip);
    for (const std::uint16_t port : {4646, 4647, 4648})
      CHECK(why(usual, ip, port).find("the agent's own API") != std::string::npos);
    CHECK(why(usual, ip, 8000).empty());
    CHECK(why({.agent = true, .agent_ports = {4646}}, ip, 4646).empty());
  }
  CHECK(why(usual, "10.0.0.8", 4646).empty());  // another machine's
  CHECK(why(usual, "127.0.0.1", 4646)
        == "127.0.0.1:4646 is the agent's own API: no artifact is fetched from there without "
           "client.artifact.allow_agent_api = true");
}

TEST_CASE("artifact reach: link-local addresses, and where clouds tell keys") {
  for (const char* ip : {"169.254.169.254", "169.254.0.1", "::ffff:169.254.170.2", "fe80::1",
                         "febf::1", "fd00:ec2::254", "100.100.100.200", "64:ff9b::a9fe:a9fe"}) {
    CAPTURE(ip);
    CHECK(why(usual, ip, 80).find("allow_link_local") != std::string::npos);
    CHECK(why({.link_local = true}, ip, 80).empty());
  }
  for (const char* ip : {"169.253.1.1", "fec0::1", "100.100.100.201", "10.1.2.3", "2001:db8::1"})
    CHECK(why(usual, ip, 80).empty());
}

TEST_CASE("artifact reach: what is refused says which key allows it") {
  const std::string without = ": no artifact is fetched from there without client.artifact.";
  CHECK(why(usual, "169.254.0.1", 80)
        == "169.254.0.1:80 is a link-local address" + without + "allow_link_local = true");
  CHECK(why(usual, "100.100.100.200", 80)
        == "100.100.100.200:80 is where clouds tell machines their keys" + without
               + "allow_link_local = true");
  CHECK(why({.loopback = false}, "127.0.0.1", 80)
        == "127.0.0.1:80 is a loopback address" + without + "allow_loopback = true");
}

TEST_CASE("artifact reach: loopback is reached unless that is forbidden") {
  for (const char* ip : {"127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.1.2.3"}) {
    CHECK(why({.loopback = false}, ip, 8000).find("allow_loopback") != std::string::npos);
    CHECK(why(usual, ip, 8000).empty());
  }
  CHECK(why({.loopback = false}, "10.0.0.7", 8000).empty());
}

TEST_CASE("artifact reach: name servers are asked wherever they are, and nothing else of them") {
  const auto servers = name_servers_of(
      "# nameserver 169.254.0.9\nsearch a\nnameserver 169.254.169.254\r\n"
      "nameserver\tfe80::1%eth0 \nnameserver 127.0.0.53\nnameservers 169.254.0.8\nnameserver");
  CHECK(servers == std::vector{*ip_of("169.254.169.254"), *ip_of("fe80::1"), *ip_of("127.0.0.53")});
  CHECK(name_servers_of("").size() == 2);
  const ReachJudge judge{{.loopback = false, .agent_ports = {4646}}, {}, servers};
  for (const char* ip : {"169.254.169.254", "fe80::1", "127.0.0.53", "::ffff:169.254.169.254"}) {
    CAPTURE(ip);
    CHECK_FALSE(judge.refuses(*ip_of(ip), 53));
    CHECK_FALSE(judge.refuses(*ip_of(ip), 0));
    for (const std::uint16_t port : {80, 443, 4646})
      CHECK(judge.refuses(*ip_of(ip), port));
  }
  for (const char* ip : {"169.254.169.253", "127.0.0.1", "fe80::2", "168.63.129.16"})
    CHECK(judge.refuses(*ip_of(ip), 53));
}

TEST_CASE("artifact reach: sockets as the kernel takes them") {
  const auto judge = judge_of(usual);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(4646);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(judge.refuses(reinterpret_cast<const sockaddr*>(&four), sizeof four));
  CHECK_FALSE(judge.refuses(reinterpret_cast<const sockaddr*>(&four), 3));  // the kernel refuses it
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(4647);
  six.sin6_addr = in6addr_loopback;
  CHECK(judge.refuses(reinterpret_cast<const sockaddr*>(&six), sizeof six));
  CHECK(judge.refuses(reinterpret_cast<const sockaddr*>(&six), 24));  // without a scope
  six.sin6_family = AF_UNIX;
  CHECK_FALSE(judge.refuses(reinterpret_cast<const sockaddr*>(&six), sizeof six));
}

#include "actors/api/cluster/member_json.hpp"

#include <cstdint>
#include <utility>

#include "actors/api/http/json_out.hpp"

namespace nomad::api {
namespace {

std::pair<std::string, std::uint16_t> split_address(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return {address, 0};
  std::uint16_t port = 0;
  for (const char c : address.substr(colon + 1))
    if (c >= '0' && c <= '9') port = static_cast<std::uint16_t>(port * 10 + (c - '0'));
  auto host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return {std::move(host), port};
}

}  // namespace

void append_member(std::string& out, const cluster::MemberInfo& member) {
  const auto [host, rpc_port] = split_address(member.rpc_address);
  const auto [serf_host, serf_port] = split_address(member.serf_address);
  JsonObject object{out};
  object.text("Addr", host)
      .number("DelegateCur", 4)
      .number("DelegateMax", 5)
      .number("DelegateMin", 2)
      .text("Name", member.name)
      // Membership runs over the RPC port; this one is shown as Nomad's users know it.
      .number("Port", serf_port == 0 ? rpc_port : serf_port)
      .number("ProtocolCur", 2)
      .number("ProtocolMax", 5)
      .number("ProtocolMin", 1)
      .text("Status", to_string(member.status));
  JsonObject tags{object.raw("Tags")};
  if (member.expect == 1) tags.text("bootstrap", "1");
  tags.text("build", member.build)
      .text("dc", member.datacenter)
      .text("expect", std::to_string(member.expect))
      .text("id", member.id);
  if (member.non_voter) tags.text("nonvoter", "1");
  tags.text("port", std::to_string(rpc_port))
      .text("raft_vsn", "3")
      .text("region", member.region)
      .text("revision", "")
      .text("role", "nomad")
      .text("rpc_addr", host)
      .text("vsn", "1");
}

cluster::MemberInfo member_of(const AgentInfo& agent) {
  return {.id = agent.server_id,
          .name = agent.name + '.' + agent.region,
          .region = agent.region,
          .datacenter = agent.datacenter,
          .rpc_address = agent.rpc_address,
          .http_address = agent.http_address,
          .serf_address = agent.serf_address,
          .build = agent.version,
          .expect = 1};
}

server::membership::Members members_of(const AgentParts& parts) {
  if (parts.cluster) return parts.cluster->members->members();
  return std::make_shared<std::vector<cluster::MemberInfo>>(1, member_of(parts.agent));
}

}  // namespace nomad::api

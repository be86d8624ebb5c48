// /v1/agent/host: the machine of this agent, or of another that is named.
#include <memory>
#include <utility>

#include "actors/api/agent/host_reader.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/host/fingerprint/host_data.hpp"

namespace nomad::api {
namespace {

void append_texts(std::string& out, const std::map<std::string, std::string>& texts) {
  JsonObject object{out};
  for (const auto& [name, value] : texts)
    append_json_text(object.member(name), value);
}

void append_host(std::string& out, const host::HostData& data) {
  JsonObject object{out};
  {
    JsonObject disks{object.raw("Disk")};
    for (const auto& [path, disk] : data.disks)
      JsonObject{disks.member(path)}
          .number("DiskMB", disk.size_mib)
          .number("UsedMB", disk.used_mib);
  }
  append_texts(object.raw("Environment"), data.environment);
  object.text("Hosts", data.hosts);
  append_json_list(object.raw("Network"), data.network, append_texts);
  object.text("OS", data.os).text("ResolvConf", data.resolv_conf);
}

struct HostParts {
  AgentInfo agent;
  std::shared_ptr<HostReader> reader;
};

std::string host_data_answer(const net::Request& request,
                             const AgentInfo& agent,
                             const host::HostData& data) {
  std::string out;
  // Who names an agent is told of which one it is.
  const bool is_of_node = request.parameter("node_id") != nullptr;
  if (!is_of_node && !request.parameter("server_id")) {
    append_host(out, data);
  } else {
    JsonObject object{out};
    object.text("AgentID", is_of_node ? agent.node_id : agent.server_id);
    append_host(object.raw("HostData"), data);
  }
  return out;
}

Outcome agent_host(Call& call, const HostParts& parts) {
  // Where nobody needs rights, the operator says whether all may see this.
  if (!call.context->authenticator->enforces() && !parts.agent.enable_debug)
    return access::permission_denied();
  auto& timers = call.context->timers;
  parts.reader->read(
      timers, [&parts, asked = share(std::move(call))](const Result<host::HostData>& data) {
        asked->settle(
            data ? Outcome{Answer::json(host_data_answer(asked->request(), parts.agent, *data))}
                 : Outcome{data.error()});
      });
  return later;
}

}  // namespace

void add_host_routes(Routes& routes, AgentParts parts) {
  const auto reader = std::make_shared<HostReader>();
  routes.at_stop([reader] { reader->stop(); });
  HostParts own{.agent = std::move(parts.agent), .reader = reader};
  routes.exact("/v1/agent/host", {{Methods::get, Capability::agent_read,
                                   routes.with(std::move(own))(agent_host), Where::named}});
}

}  // namespace nomad::api

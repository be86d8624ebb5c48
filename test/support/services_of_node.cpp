// services_of_node: says to a server what a client node would of its services, with whatever proof
// it is given.
//
//   services_of_node <server> <node id> <secret> register <alloc id> <name> <address> <port> [tag…]
//   services_of_node <server> <node id> <secret> deregister <alloc id> [id…]
//
// Prints the index of the log entry; a refusal goes to stderr, with the exit code 1.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "actors/agent/rpc_setup.hpp"
#include "actors/client/remote_servers.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/object/draft.hpp"
#include "test/support/door.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

using Words = std::span<const std::string>;

Object<schema::ServiceRegistration> service(Words words) {
  Draft<schema::ServiceRegistration> draft;
  draft->setId(text("_nomad-task-" + words[0] + "-group-group-" + words[1] + "-" + words[3]));
  draft->setAllocId(text(words[0]));
  draft->setServiceName(text(words[1]));
  draft->setAddress(text(words[2]));
  draft->setPort(std::stoi(words[3]));
  const auto tags = words.subspan(4);
  auto list = draft->initTags(static_cast<unsigned>(tags.size()));
  for (unsigned i = 0; i < tags.size(); ++i)
    list.set(i, text(tags[i]));
  return draft.freeze();
}

int say(actor::System& system, const NodeDoor& servers, door::Ask message) {
  int code = 1;
  actor::BlockingAsker self{system};
  self.request(servers, 30s, std::move(message))
      .receive(
          [&code](const door::Reply& done) {
            std::printf("%llu\n", static_cast<unsigned long long>(done->getIndex()));
            code = 0;
          },
          [](const Error& error) {
            std::fprintf(stderr, "%s: %s\n", std::string{to_string(error.code)}.c_str(),
                         error.what.c_str());
          });
  return code;
}

int run(actor::System& system, const rpc::TcpTransport& transport, Words words) {
  client::RemoteServersOptions options;
  options.servers = {words[0]};
  options.region = "global";
  *options.credentials = {.token = "", .node_id = words[1], .node_secret = words[2]};
  const auto servers = client::spawn_remote_servers(system, transport.handle(), options);
  const auto rest = words.subspan(4);
  const int code
      = words[3] == "register"
            ? say(system, servers, test::register_services(words[1], {service(rest)}))
            : say(system, servers,
                  test::deregister_services(words[1], rest[0], {rest.begin() + 1, rest.end()}));
  actor::stop(servers);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv + 1, argv + argc};
  if (words.size() < 5 || (words[3] == "register" && words.size() < 8)) return 2;
  actor::SystemConfig config;
  actor::System system{config};
  rpc::TcpTransportOptions dialing;
  dialing.network = agent::rpc_options(config::AgentConfig{}, net::RpcRole::client,
                                       "services_of_node", nullptr);
  auto transport = rpc::TcpTransport::start(
      system, std::move(dialing),
      std::make_shared<rpc::MethodRouter>("global", access::Authenticator::make({})));
  if (!transport) {
    std::fprintf(stderr, "%s\n", transport.error().what.c_str());
    return 1;
  }
  const int code = run(system, *transport, words);
  transport->stop();
  return code;
}

// nomadctl-csi-local: a sample plugin of the Container Storage Interface, version 1. Its volumes
// are directories of the machine that it runs on, which it shows at other places by bind mounts; it
// is controller and node in one. See docs/volumes.md.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

#include <unistd.h>

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "runtime/csi/sample/services.hpp"

namespace {

using namespace nomad::csi::sample;

constexpr const char* usage = R"(usage: nomadctl-csi-local [options]

  -endpoint=unix:///…/csi.sock  where to listen; else what CSI_ENDPOINT says
  -data=/var/lib/csi-local      where volumes are kept
  -node=node-1                  what this machine is called
  -max-volumes=0                how many it takes; 0: as many as there are
  -topology=zone=z1             where this machine is; several times for several segments
  -no-stage                     volumes are published without being staged
  -no-attach                    volumes are not attached to nodes
  -log=FILE                     writes a line for each call
  -misbehave=FILE               for tests: "NodeStageVolume hang", and so on, a line each
)";

bool read_option(const std::string& word, Options& options) {
  const auto equals = word.find('=');
  const auto name = word.substr(0, equals);
  const auto value = equals == word.npos ? std::string{} : word.substr(equals + 1);
  if (name == "-endpoint")
    options.endpoint = value;
  else if (name == "-data")
    options.data = value;
  else if (name == "-node")
    options.node = value;
  else if (name == "-max-volumes")
    options.max_volumes = std::atoll(value.c_str());
  else if (name == "-no-stage")
    options.stages = false;
  else if (name == "-no-attach")
    options.attaches = false;
  else if (name == "-log")
    options.log = value;
  else if (name == "-misbehave")
    options.misbehave = value;
  else if (name == "-topology" && value.find('=') != value.npos)
    options.topology[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
  else
    return false;
  return true;
}

std::unique_ptr<grpc::Server> listening;

}  // namespace

int main(int count, char** words) {
  Options options;
  if (const char* endpoint = std::getenv("CSI_ENDPOINT")) options.endpoint = endpoint;
  for (int at = 1; at < count; ++at)
    if (std::string word{words[at]};
        !read_option(word.rfind("--", 0) == 0 ? word.substr(1) : word, options)) {
      std::cerr << usage;
      return 1;
    }
  if (options.endpoint.rfind("unix://", 0) != 0) {
    std::cerr << "neither -endpoint nor CSI_ENDPOINT says unix://<path>\n" << usage;
    return 1;
  }
  const auto path = options.endpoint.substr(std::strlen("unix://"));
  ::unlink(path.c_str());
  // Addresses of sockets are short: it is told by its directory.
  const auto slash = path.rfind('/');
  if (slash == path.npos || ::chdir(path.substr(0, slash + 1).c_str()) != 0) {
    std::perror(path.c_str());
    return 1;
  }
  const Store store{options.data};
  Manners manners{options};
  const Parts parts{options, store, manners};
  IdentityService identity{parts};
  ControllerService controller{parts};
  NodeService node{parts};
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path.substr(slash + 1), grpc::InsecureServerCredentials());
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&identity);
  builder.RegisterService(&controller);
  builder.RegisterService(&node);
  listening = builder.BuildAndStart();
  if (!listening) {
    std::cerr << "cannot listen at " << path << '\n';
    return 1;
  }
  std::cout << "serves " << options.data << " at " << path << std::endl;
  for (const int signal : {SIGINT, SIGTERM})
    ::signal(signal, [](int) { ::_exit(0); });
  listening->Wait();
  return 0;
}

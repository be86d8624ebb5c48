#include "runtime/plugin/bridge/bridge.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "runtime/plugin/bridge/bridge_driver.hpp"
#include "runtime/plugin/bridge/shown.hpp"
#include "runtime/plugin/bridge/values.hpp"
#include "runtime/plugin/sdk/serve.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;

/// Together below the agent's patience with plugins of this kind.
constexpr auto handshake_patience = 6s;
constexpr auto question_patience = 2s;
constexpr auto configure_patience = 5s;
constexpr auto end_patience = 700ms;

constexpr std::string_view api_version = "v0.1.0";
constexpr unsigned lowest_driver_port = 14000;
constexpr unsigned highest_driver_port = 14512;

/// Connected for good: nobody else is to, and nothing is left when the program is killed.
void unlink_socket(const std::string& path) {
  struct stat status {};

  // What it says may be nonsense.
  if (!path.empty() && ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode))
    ::unlink(path.c_str());
}

/// Another process follows, and finds the tasks again.
void give_up() {
  std::fputs("more answers of its program wait than can be kept\n", stderr);
  ::_exit(exit_failed);
}

}  // namespace

Bridge::Bridge(Options options)
    : options_{std::move(options)},
      turns_{std::make_shared<TurnQueue>(TurnQueue::Limits{.overflown = give_up})} {}

Result<std::unique_ptr<Bridge>> Bridge::begin(Options options) {
  std::unique_ptr<Bridge> made{new Bridge{std::move(options)}};
  auto program = GoProgram::start(made->options_.words, handshake_patience);
  if (!program) return program.error();
  made->program_ = std::move(*program);
  made->program_->watch(
      {.line = [bridge = made.get()](LogLine line) { bridge->hear(std::move(line)); },
       .ended = [bridge = made.get()](const std::string& how) { bridge->program_ended(how); }});
  made->remote_ = std::make_unique<Remote>(made->program_->handshake().target, Turns{made->turns_});
  auto asked = made->ask_what_it_is();
  unlink_socket(made->program_->handshake().socket);
  if (asked) return made;
  // Its thread listens until this process ends, and the program with it; it has nothing to add.
  made->ends_ = true;
  static_cast<void>(made.release());
  return asked.error();
}

Result<> Bridge::ask_what_it_is() {
  auto& base = remote_->base();
  const auto info = remote_->ask("PluginInfo", base, &base::BasePlugin::Stub::PluginInfo,
                                 base::PluginInfoRequest{}, question_patience);
  if (!info) return info.error();
  info_ = *info;
  if (info_.type() == base::DEVICE)
    return Error{Errc::rejected,
                 "it is a device plugin of Nomad's: only its task drivers can be used here"};
  if (info_.type() != base::DRIVER)
    return Error{Errc::rejected, "it does not say that it is a task driver"};
  if (std::ranges::find(info_.plugin_api_versions(), api_version)
      == info_.plugin_api_versions().end())
    return Error{
        Errc::rejected,
        fmt::format("it does not speak version {} of Nomad's API of drivers", api_version)};
  const auto schema = remote_->ask("ConfigSchema", base, &base::BasePlugin::Stub::ConfigSchema,
                                   base::ConfigSchemaRequest{}, question_patience);
  if (!schema) return schema.error();
  auto config = ConfigSpec::read("its configuration", schema->spec());
  if (!config) return config.error();
  config_ = std::move(*config);
  return {};
}

void Bridge::describe(Plugin& plugin) {
  plugin.is(options_.name, shown(info_.plugin_version() + " (Nomad)", 100));
  plugin.config(config_->fields());
  plugin.on_configure([this](const Config& config) { return configure(config); });
  plugin.driver(info_.name(), [this](Agent& agent) {
    auto driver = std::make_unique<BridgeDriver>(agent, Served{.remote = *remote_,
                                                               .capabilities = capabilities_,
                                                               .task_config = *task_config_,
                                                               .name = info_.name(),
                                                               .executor = options_.executor});
    agent.watch(turns_->descriptor(), POLLIN, [turns = turns_, &agent](short) {
      if (const auto dropped = turns->run(); dropped > 0)
        agent.log(Level::warn, fmt::format("{} lines of its program are dropped: it writes faster "
                                           "than they can be taken",
                                           dropped));
    });
    agent_ = &agent;
    return driver;
  });
}

Result<> Bridge::configure(const Config& config) {
  boost::json::error_code failure;
  const auto json = boost::json::parse(config.json(), failure);
  if (failure || !json.is_object())
    return Error{Errc::invalid_argument, "its configuration is no object"};
  const auto value = config_->decode(json.get_object());
  if (!value) return value.error();
  base::SetConfigRequest request;
  request.set_msgpack_config(to_msgpack(*value));
  request.set_plugin_api_version(std::string{api_version});
  request.mutable_nomad_config()->mutable_driver()->set_clientminport(lowest_driver_port);
  request.mutable_nomad_config()->mutable_driver()->set_clientmaxport(highest_driver_port);
  auto& base = remote_->base();
  const auto set = remote_->ask("SetConfig", base, &base::BasePlugin::Stub::SetConfig, request,
                                configure_patience);
  if (!set) return set.error();
  auto& driver = remote_->driver();
  const auto capabilities
      = remote_->ask("Capabilities", driver, &drivers::Driver::Stub::Capabilities,
                     drivers::CapabilitiesRequest{}, question_patience);
  if (!capabilities) return capabilities.error();
  capabilities_ = capabilities->capabilities();
  const auto schema
      = remote_->ask("TaskConfigSchema", driver, &drivers::Driver::Stub::TaskConfigSchema,
                     drivers::TaskConfigSchemaRequest{}, question_patience);
  if (!schema) return schema.error();
  auto spec = ConfigSpec::read("its tasks' configuration", schema->spec());
  if (!spec) return spec.error();
  task_config_ = std::move(*spec);
  return {};
}

/// On the thread that listens.
void Bridge::hear(LogLine line) {
  if (is_panic(line.text)) panic_ = line.text;
  turns_->offer([this, line = std::move(line)] {
    if (auto* const agent = agent_.load()) agent->log(line.level, line.text);
  });
}

/// Another process is to follow, and recovers what runs.
void Bridge::program_ended(const std::string& how) {
  if (ends_) return;
  std::fprintf(
      stderr, "%s\n",
      fmt::format("its program {}{}", how, panic_.empty() ? "" : ": " + shown(panic_)).c_str());
  ::_exit(exit_failed);
}

void Bridge::end() {
  ends_ = true;
  remote_->shut_down(end_patience);
  if (!program_->wait(end_patience)) program_->kill();
}

}  // namespace nomad::plugin::bridge

// PluginLoader: finds an agent's plugins, starts them all at once, waits until each has said what
// it is, and enters what they bring into the catalog of the client. An agent without plugins has
// none.
//
// Threads: the wiring's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/client/plugin_catalog.hpp"
#include "actors/plugin/plugin_link.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/plugin/plugin_file.hpp"

namespace nomad::plugin {

struct LoaderOptions {
  const config::AgentConfig* config = nullptr;
  std::string host_program;  ///< nomadctl-plugin-host.
  std::shared_ptr<telemetry::Registry> metrics;
  plugin_link::Patience patience{};
};

class PluginLoader {
public:
  /// Null where there is nothing to load. The error is that of a directory that can't be read;
  /// whatever is wrong with a plugin is that plugin's (`board`). Blocks until they have said what
  /// they are, which is no longer than the patience.
  static Result<std::unique_ptr<PluginLoader>> load(const actor::Owner& owner,
                                                    const LoaderOptions& options);

  PluginLoader(const PluginLoader&) = delete;
  PluginLoader& operator=(const PluginLoader&) = delete;
  ~PluginLoader();

  /// Adds what they bring. A plugin whose name for something is taken is refused, whole.
  void enter(client::PluginCatalog& catalog);

  /// The agent answers.
  void serve(const plugin_link::Serve& how);

  /// It answers no more; when this returns nothing is under way to its API.
  void close_api();

  const std::shared_ptr<PluginBoard>& board() const { return board_; }

  /// Lets them end; blocks for two seconds at most.
  void stop();

private:
  struct Loaded {
    std::string name;
    PluginLink link;
    std::shared_ptr<PluginFacts> facts;
  };

  explicit PluginLoader(actor::System& system) : system_{&system} {}

  Result<> start(const actor::Owner& owner,
                 const LoaderOptions& options,
                 const PluginFile& file,
                 const config::PluginBlock& settings);
  void refuse_absent(const std::map<std::string, config::PluginBlock>& blocks,
                     const std::string& directory);

  actor::System* system_;
  std::shared_ptr<PluginLoop> loop_;
  std::shared_ptr<PluginBoard> board_ = std::make_shared<PluginBoard>();
  std::vector<Loaded> loaded_;
  std::shared_ptr<ApiGate> gate_;
};

/// `catalog` with all that the plugin declares; the error says which of its names is taken, or whom
/// a hook wants to come after. Built-in names can't be replaced.
Result<client::PluginCatalog> with_plugin(client::PluginCatalog catalog,
                                          schema::plugin::Declaration::Reader declaration,
                                          const PluginLink& link,
                                          const std::shared_ptr<PluginFacts>& facts);

}  // namespace nomad::plugin

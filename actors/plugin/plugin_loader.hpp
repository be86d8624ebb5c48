// PluginLoader: finds an agent's plugins, starts them all at once, waits until each has said what
// it is, and enters what they bring into the catalog of the client. The agent starts its server and
// opens its client's state meanwhile. An agent without plugins has none.
//
// Threads: the wiring's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/client/plugin_catalog.hpp"
#include "actors/plugin/body/socket_peer.hpp"
#include "actors/plugin/plugin_link.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/net/kept_users.hpp"
#include "runtime/plugin/plugin_copy.hpp"
#include "runtime/plugin/plugin_file.hpp"

namespace nomad::plugin {

/// By their paths.
struct LoaderPrograms {
  std::string host;         ///< nomadctl-plugin-host.
  std::string go_plugin{};  ///< nomadctl-go-plugin; empty: it was not built, or not installed.
  std::string executor{};   ///< nomadctl-executor, for what go_plugin runs.
};

struct LoaderOptions {
  const config::AgentConfig* config = nullptr;
  LoaderPrograms programs{};
  std::shared_ptr<telemetry::Registry> metrics;
  std::shared_ptr<server::JobTypes> job_types{};          ///< Where they enter theirs.
  std::shared_ptr<client::ServiceProviders> providers{};  ///< And theirs of services.
  std::shared_ptr<net::KeptUsers> kept_users{};           ///< And the users that they have.
  plugin_link::Patience patience{};
};

class PluginLoader {
public:
  /// Null where there is nothing to load. The error is that of a directory that can't be read;
  /// whatever is wrong with a plugin is that plugin's (`states`). Waits for none of them.
  static Result<std::unique_ptr<PluginLoader>> load(const actor::Owner& owner,
                                                    const LoaderOptions& options);

  PluginLoader(const PluginLoader&) = delete;
  PluginLoader& operator=(const PluginLoader&) = delete;
  ~PluginLoader();

  /// Adds what they bring. A plugin whose name for something is taken is refused, whole. Blocks
  /// until they have said what they are, which is no longer than the patience. Any thread. The
  /// catalog as it was is kept, for `reload`.
  void enter(client::PluginCatalog& catalog);

  /// Looks at the directory and the blocks again: what is new, or was refused, is started; whose
  /// file or block is another one goes on in another process; what is gone waits for `end_leaving`.
  /// Gives the catalog that holds from now on, if what the plugins of a client bring has changed.
  /// Blocks as `enter` does, and until each successor runs. The error is that of a directory that
  /// can't be read.
  Result<std::optional<client::PluginCatalog>> reload(const actor::Owner& owner,
                                                      const config::AgentConfig& config);

  /// The catalog that holds from now on, if a plugin has said since the last look what it is, or is
  /// not used any more. Does not block.
  std::optional<client::PluginCatalog> look_again();

  /// Ends those that `reload` no longer found, when nobody asks them any more.
  void end_leaving();

  /// The agent answers.
  void serve(const plugin_link::Serve& how);

  /// It answers no more; when this returns nothing is under way to its API.
  void close_api();

  const std::shared_ptr<PluginStates>& states() const { return states_; }

  /// Lets them end; blocks for two seconds at most.
  void stop();

private:
  using Declarations = std::map<std::string, Object<schema::plugin::Declaration>>;

  struct Loaded {
    std::string name;
    config::PluginBlock settings;
    std::string path;                        ///< Of its file in the directory.
    std::shared_ptr<const PluginCopy> copy;  ///< Of the file when it was taken.
    PluginLink link;
    std::shared_ptr<PluginFacts> facts;
    std::chrono::nanoseconds patience{0};           ///< With its declaration.
    Object<schema::plugin::Declaration> entered{};  ///< What of it is in the catalog.
  };

  PluginLoader(actor::System& system, const LoaderOptions& options)
      : system_{&system}, options_{options}, directory_{options.config->plugin_dir} {
    options_.config = nullptr;
  }

  Result<> start(const actor::Owner& owner,
                 const config::AgentConfig& config,
                 const PluginFile& file,
                 const config::PluginBlock& settings);
  void look(const actor::Owner& owner,
            const config::AgentConfig& config,
            const std::vector<PluginFile>& files);
  void refuse(const std::string& name, const std::string& problem);
  void refuse_absent(const std::map<std::string, config::PluginBlock>& blocks);
  void reconfigure(const config::AgentConfig& config,
                   Loaded& known,
                   const PluginFile& file,
                   const config::PluginBlock& settings);
  Result<> keep_user(const std::string& name, const config::PluginBlock& settings) const;
  client::PluginCatalog catalog_without(const std::string& name) const;
  Declarations usable() const;
  static bool is_entered(const Loaded& each, const Declarations& present);
  client::PluginCatalog enter_all();
  void end(std::vector<Loaded> those);

  actor::System* system_;
  LoaderOptions options_;  ///< Without the configuration, which may change.
  std::string directory_;
  std::shared_ptr<PluginLoop> loop_;
  std::shared_ptr<PluginStates> states_ = std::make_shared<PluginStates>();
  std::vector<Loaded> loaded_;
  std::vector<Loaded> leaving_;
  bool has_changed_ = false;                   ///< What a client has of them, since the last look.
  std::optional<client::PluginCatalog> base_;  ///< Without those of plugins.
  std::optional<plugin_link::Serve> served_;
  std::chrono::steady_clock::time_point declared_by_{};  ///< Those that were started last.
};

/// `catalog` with all that the plugin declares; the error says which of its names is taken, or whom
/// a hook wants to come after. Built-in names can't be replaced.
Result<client::PluginCatalog> with_plugin(client::PluginCatalog catalog,
                                          schema::plugin::Declaration::Reader declaration,
                                          const PluginLink& link,
                                          const std::shared_ptr<PluginFacts>& facts);

}  // namespace nomad::plugin

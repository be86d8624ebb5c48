#include "runtime/network/alloc_networks.hpp"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include <fcntl.h>
#include <net/if.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/files/replace_file.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/network/firewall.hpp"

namespace nomad::network {
namespace {

namespace fs = std::filesystem;

constexpr int tries = 3;
constexpr std::chrono::milliseconds retry_pause{1000};
constexpr std::chrono::milliseconds stop_look{50};  ///< Between two looks whether to stop.
/// Between two looks for plugins that an earlier agent started and that are still at work.
constexpr std::chrono::milliseconds lock_pause{5};
constexpr std::string_view record_suffix = ".json";
constexpr std::string_view cni_prefix = "cni/";

/// Plugins that make what many allocations share, a bridge, are in each other's way.
std::mutex& gate() {
  static std::mutex only;
  return only;
}

/// Waits until nobody else is at work on the allocation.
class Turn {
public:
  explicit Turn(const std::string& alloc_id) : alloc_id_{alloc_id} {
    std::unique_lock lock{mutex_};
    freed_.wait(lock, [this] { return !busy_.contains(alloc_id_); });
    busy_.insert(alloc_id_);
  }

  ~Turn() {
    {
      const std::scoped_lock lock{mutex_};
      busy_.erase(alloc_id_);
    }
    freed_.notify_all();
  }

  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

private:
  static inline std::mutex mutex_;
  static inline std::condition_variable freed_;
  static inline std::set<std::string> busy_;
  std::string alloc_id_;
};

bool is_v6(std::string_view address) {
  return address.find(':') != address.npos;
}

std::vector<std::string> addresses_of(const NetworkRecord& record) {
  std::vector<std::string> addresses;
  if (const auto made = parse_cni_result(record.result); made)
    for (const auto& each : made->addresses)
      addresses.push_back(each.address);
  return addresses;
}

std::string address_of(const NetworkRecord& record) {
  const auto status = record.status();
  return status ? status->address : std::string{};
}

}  // namespace

// -- records -------------------------------------------------------------------------------------

std::string AllocNetworks::record_path(const std::string& alloc_id) const {
  return fmt::format("{}/networks/{}{}", options_.state_dir, alloc_id, record_suffix);
}

Result<std::optional<NetworkRecord>> AllocNetworks::load(const std::string& alloc_id) const {
  const auto path = record_path(alloc_id);
  std::error_code failure;
  if (!fs::exists(path, failure)) return std::optional<NetworkRecord>{};
  const auto text = NOMAD_TRY(read_whole_file(path));
  return std::optional{NOMAD_TRY(parse_record(text).within(path))};
}

std::string AllocNetworks::lock_path(const std::string& alloc_id) const {
  return fmt::format("{}/networks/{}.lock", options_.state_dir, alloc_id);
}

Result<> AllocNetworks::save(const std::string& alloc_id, const NetworkRecord& record) const {
  const auto directory = options_.state_dir + "/networks";
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error("making " + directory, errno);
  // Networks end with the power.
  return replace_file(record_path(alloc_id), to_text(record), Durability::of_process);
}

Result<> AllocNetworks::forget(const std::string& alloc_id) const {
  for (const auto& path : {record_path(alloc_id), lock_path(alloc_id)})
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return errno_error("removing " + path, errno);
  return {};
}

std::vector<std::string> AllocNetworks::recorded() const {
  std::vector<std::string> ids;
  for (const auto& name :
       names_in(options_.state_dir + "/networks").value_or(std::vector<std::string>{}))
    if (name.ends_with(record_suffix))
      ids.push_back(name.substr(0, name.size() - record_suffix.size()));
  std::ranges::sort(ids);
  return ids;
}

// -- plugins -------------------------------------------------------------------------------------

/// Held by the plugins that are at work on an allocation, and by nobody else: they outlive an agent
/// that is killed, and what they add then must not come behind what the next agent removes. They
/// get the time that their own agent would have given them. One that has ended but left something
/// running holds it for good, so after that time there is another lock.
Result<host::UniqueFd> AllocNetworks::lock_of_plugins(const std::string& alloc_id) const {
  const auto path = lock_path(alloc_id);
  for (std::chrono::milliseconds waited{0};; waited += lock_pause) {
    host::UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!file) return errno_error("making " + path, errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("locking " + path, errno);
    if (waited < options_.plugin_timeout) {
      tools_.wait(lock_pause);
      continue;
    }
    const bool killed = tools_.end_holders(path);
    log::warn("client",
              killed ? "a CNI plugin of an earlier agent was still at work: it was killed"
                     : "the lock of an allocation's network is still held: it is passed over",
              {{"alloc", alloc_id}, {"delay", format_duration(waited)}});
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return errno_error("removing " + path, errno);
  }
}

void AllocNetworks::pause(const std::stop_token& stopped) const {
  for (auto left = retry_pause; left.count() > 0 && !stopped.stop_requested(); left -= stop_look)
    tools_.wait(std::min(left, stop_look));
}

Result<CniNetwork> AllocNetworks::network_of(const std::string& mode) const {
  if (mode == "none") return CniNetwork{.name = "none", .plugins = {}};
  if (mode == "bridge") return parse_cni_network(bridge_config(options_.bridge), true);
  if (!mode.starts_with(cni_prefix))
    return Error{Errc::invalid_argument,
                 fmt::format("network mode {} is unknown; it is \"none\", \"host\", \"bridge\" or "
                             "\"cni/<name>\"",
                             quote(mode))};
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& name : names_in(options_.cni_config_dir).value_or(std::vector<std::string>{}))
    if (is_cni_config(name))
      files.emplace_back(name, NOMAD_TRY(read_whole_file(options_.cni_config_dir + '/' + name)));
  return find_cni_network(std::move(files), mode.substr(cni_prefix.size()),
                          options_.cni_config_dir);
}

CniTarget AllocNetworks::target_of(const std::string& alloc_id) const {
  return {.container_id = alloc_id,
          .namespace_path = tools_.has_namespace(alloc_id)
                                ? fmt::format("{}/{}", options_.namespace_dir, alloc_id)
                                : std::string{}};
}

Result<std::string> AllocNetworks::program_of(const CniPlugin& plugin) const {
  auto program = host::find_program(plugin.type, options_.cni_path);
  if (!program.empty()) return program;
  return Error{Errc::rejected,
               fmt::format("CNI plugin {} is not in {}; client.cni_path says where plugins are",
                           plugin.type, options_.cni_path)};
}

Result<std::string> AllocNetworks::call(CniVerb verb,
                                        const CniTarget& target,
                                        const NetworkRecord& record,
                                        const CniPlugin& plugin,
                                        CniError::Cause* cause) const {
  const auto program = NOMAD_TRY(program_of(plugin));
  host::ProgramRun run{.program = program,
                       .arguments = {},
                       .environment = cni_environment(verb, target, options_.cni_path)};
  run.input = NOMAD_TRY(cni_input(record.network, plugin, record.mappings, record.result));
  run.timeout = options_.plugin_timeout;
  const auto lock = NOMAD_TRY(lock_of_plugins(target.container_id));
  run.held = lock.get();
  const auto ended = tools_.run(run);
  if (!ended)
    return ended.error().within(fmt::format("CNI plugin {} at {}", plugin.type, to_string(verb)));
  if (ended->exit_code == 0) return ended->output;
  auto failure = cni_failure(plugin.type, verb, ended->exit_code, ended->output, ended->errors);
  if (cause != nullptr) *cause = failure.cause;
  return std::move(failure.error);
}

/// Traffic to the bridge is let in before other rules judge it. Only that mode has such a chain.
Result<> AllocNetworks::admit(const std::string& mode) const {
  if (mode != "bridge") return {};
  const auto program = host::find_program("iptables", host::system_path);
  if (program.empty())
    return Error{Errc::rejected, "the bridge mode needs iptables, which is not installed"};
  const auto iptables = [this, &program](std::vector<std::string> words) {
    return tools_.run({.program = program,
                       .arguments = std::move(words),
                       .environment = {fmt::format("PATH={}", host::system_path)}});
  };
  const auto is_known = [&]() -> Result<bool> {
    return NOMAD_TRY(iptables(admin_rule("-C", options_.bridge))).exit_code == 0;
  };
  if (NOMAD_TRY(is_known())) return {};
  static std::mutex admission;  // Two that miss the rule would make it twice.
  const std::scoped_lock one_at_a_time{admission};
  if (NOMAD_TRY(is_known())) return {};
  // That the chain is there already is no failure; what is one shows in the next step.
  NOMAD_TRY(iptables({"-w", "5", "-N", std::string{admin_chain}}));
  const auto added = NOMAD_TRY(iptables(admin_rule("-A", options_.bridge)));
  if (added.exit_code != 0)
    return Error{
        Errc::unavailable,
        fmt::format("failed to initialize table forwarding rules: iptables: {}", added.errors)};
  return {};
}

/// The plugin portmap (of 1.1.1) looks for the rules of each family of addresses in the tables of
/// both, where the kernel has both. Of a family of which the allocation has no address there are
/// none; if it has both, IPv6's table is judged by whether the allocation's rules are there at all.
bool AllocNetworks::is_false_alarm(CniError::Cause cause,
                                   const std::string& alloc_id,
                                   const NetworkRecord& record) const {
  if (!parse_cni_result(record.result)) return false;
  const auto addresses = addresses_of(record);
  if (std::ranges::all_of(addresses, is_v6)) return cause == CniError::Cause::ipv4_unchecked;
  if (cause != CniError::Cause::ipv6_unchecked) return false;
  if (std::ranges::none_of(addresses, is_v6)) return true;
  const auto saved = saved_rules("ip6tables");
  return saved && saved->find(alloc_id) != saved->npos;
}

Result<> AllocNetworks::check(const std::string& alloc_id, const NetworkRecord& record) const {
  if (!record.network.can_check()) return {};
  const auto target = target_of(alloc_id);
  for (const auto& plugin : record.network.plugins) {
    auto cause = CniError::Cause::other;
    const auto checked = call(CniVerb::check, target, record, plugin, &cause);
    if (!checked && !is_false_alarm(cause, alloc_id, record)) return checked.error();
  }
  return {};
}

Result<> AllocNetworks::add(const CniTarget& target,
                            NetworkRecord& record,
                            const std::stop_token& stopped) const {
  record.result.clear();
  record.is_complete = false;
  for (const auto& plugin : record.network.plugins) {
    if (stopped.stop_requested()) return Error{Errc::cancelled, "cancelled"};
    NOMAD_TRY(save(target.container_id, record));
    auto result = NOMAD_TRY(call(CniVerb::add, target, record, plugin));
    NOMAD_TRY(parse_cni_result(result).within("CNI plugin " + plugin.type));
    record.result = std::move(result);
  }
  record.is_complete = true;
  if (!record.network.plugins.empty()) {
    const auto made = NOMAD_TRY(parse_cni_result(record.result));
    NOMAD_TRY(status_of(made));
  }
  return save(target.container_id, record);
}

/// As Nomad, three times: two allocations may be in each other's way. The first failure is told. A
/// former address is asked for once.
Result<> AllocNetworks::add_patiently(const NetworkSpec& spec,
                                      std::string wanted_ip,
                                      NetworkRecord& record,
                                      const std::stop_token& stopped) const {
  std::unique_lock one_at_a_time{gate(), std::defer_lock};
  if (spec.mode != "bridge" || ::if_nametoindex(options_.bridge.name.c_str()) == 0)
    one_at_a_time.lock();
  std::optional<Error> first;
  for (int attempt = 1;; ++attempt) {
    auto target = target_of(spec.alloc_id);
    target.wanted_ip = std::exchange(wanted_ip, {});
    const bool asked_for_address = !target.wanted_ip.empty();
    const auto outcome = add(target, record, stopped);
    if (outcome) return {};
    // What it leaves is told by the error that counts, or taken down by whoever comes later.
    static_cast<void>(undo(spec.alloc_id, record));
    if (!first && !asked_for_address) first = outcome.error();
    const bool may_pass = asked_for_address || outcome.error().code == Errc::unavailable
                          || outcome.error().code == Errc::timeout;
    if (attempt == tries || !may_pass || stopped.stop_requested())
      return first ? *first : outcome.error();
    pause(stopped);
  }
}

/// Every plugin is asked, also those that had not begun: the failed one may have left something.
Result<> AllocNetworks::undo(const std::string& alloc_id, const NetworkRecord& record) const {
  const auto target = target_of(alloc_id);
  Result<> outcome;
  for (auto plugin = record.network.plugins.rbegin(); plugin != record.network.plugins.rend();
       ++plugin)
    if (auto done = call(CniVerb::del, target, record, *plugin); !done && outcome)
      outcome = done.error();
  if (record.network.plugins.empty()) return outcome;
  // Also after success: portmap passes over tables that it can't list. By its address, which
  // another allocation may have by now, only what a plugin without its namespace does not know any
  // more.
  const auto addresses = addresses_of(record);
  const bool has_v6 = std::ranges::any_of(addresses, is_v6);
  const bool by_address = !outcome || target.namespace_path.empty();
  for (const std::string_view family : {"iptables", "ip6tables"}) {
    if (family == "ip6tables" && !has_v6) continue;
    const auto swept = sweep(family, alloc_id, by_address ? addresses : std::vector<std::string>{});
    if (!swept && outcome) outcome = swept.error();
  }
  return outcome;
}

/// Of "iptables" or "ip6tables". Nothing without the program: then nobody has made any.
Result<std::string> AllocNetworks::saved_rules(std::string_view family) const {
  const auto program = host::find_program(fmt::format("{}-save", family), host::system_path);
  if (program.empty()) return std::string{};
  auto saved = NOMAD_TRY(tools_.run({.program = program,
                                     .arguments = {},
                                     .environment = {fmt::format("PATH={}", host::system_path)},
                                     .max_output = 64UL << 20}));
  if (saved.exit_code != 0)
    return Error{Errc::unavailable, fmt::format("listing rules of {}: {}", family, saved.errors)};
  return std::move(saved.output);
}

/// Removes what is left of it among the rules: what names it, or in a chain of CNI's one of the
/// addresses.
Result<> AllocNetworks::sweep(std::string_view family,
                              const std::string& alloc_id,
                              const std::vector<std::string>& addresses) const {
  const auto saved = NOMAD_TRY(saved_rules(family));
  const auto removal = rules_removal(saved, alloc_id, addresses);
  const auto restorer = host::find_program(fmt::format("{}-restore", family), host::system_path);
  if (removal.empty() || restorer.empty()) return {};
  const auto restored
      = NOMAD_TRY(tools_.run({.program = restorer,
                              .arguments = {"-w", "5", "--noflush"},
                              .environment = {fmt::format("PATH={}", host::system_path)},
                              .input = removal}));
  if (restored.exit_code != 0)
    return Error{Errc::unavailable,
                 fmt::format("removing rules of {}: {}", family, restored.errors)};
  return {};
}

// -- networks ------------------------------------------------------------------------------------

/// What is to be done, if it can be. Ports that a process of the host listens at are not taken from
/// it. Of a port that is taken for udp alone tcp is mapped: jobs don't say which of the two they
/// mean.
Result<NetworkRecord> AllocNetworks::plan(const NetworkSpec& spec,
                                          std::vector<std::string>& news) const {
  NetworkRecord record{.network = NOMAD_TRY(network_of(spec.mode)), .mappings = {}};
  // One that is missing could not undo anything either.
  for (const auto& plugin : record.network.plugins)
    NOMAD_TRY(program_of(plugin));
  if (record.network.plugins.empty()) return record;
  for (const auto& mapping : spec.mappings) {
    if (!tools_.is_taken(mapping)) {
      record.mappings.push_back(mapping);
      continue;
    }
    if (mapping.protocol == "tcp")
      return Error{Errc::rejected,
                   fmt::format("port {} ({}) is taken: a process of this host listens at it",
                               mapping.host_port, mapping.label)};
    news.push_back(fmt::format("port {} ({}) is not mapped for {}: a process of this host has it",
                               mapping.host_port, mapping.label, mapping.protocol));
  }
  return record;
}

Result<Joined> AllocNetworks::join(const NetworkSpec& spec, const std::stop_token& stopped) const {
  const Turn turn{spec.alloc_id};
  return join_in_turn(spec, stopped);
}

Result<> AllocNetworks::leave(const std::string& alloc_id) const {
  const Turn turn{alloc_id};
  return leave_in_turn(alloc_id);
}

Result<> AllocNetworks::leave_all(const std::vector<std::string>& alloc_ids) const {
  Result<> outcome;
  for (const auto& id : alloc_ids)
    if (auto left = leave(id); !left) outcome = left.error().within(id);
  return outcome;
}

Result<Joined> AllocNetworks::join_in_turn(const NetworkSpec& spec,
                                           const std::stop_token& stopped) const {
  const auto& id = spec.alloc_id;
  Joined joined{.namespace_path = fmt::format("{}/{}", options_.namespace_dir, id)};
  auto known = load(id);
  if (!known) joined.news.push_back(known.error().what);
  const auto old = known ? std::move(*known) : std::nullopt;
  const bool was_there = tools_.has_namespace(id);
  if (old && old->is_complete && was_there) {
    const auto checked = check(id, *old);
    if (checked) {
      joined.status = old->status();
      return joined;
    }
    joined.news.push_back("the network is damaged and is made anew: " + checked.error().what);
  } else if (old && old->is_complete) {
    joined.news.push_back("the network namespace is gone and is made anew");
  }
  if (old) static_cast<void>(undo(id, *old));  // What can't be undone shows when it is made anew.
  auto record = NOMAD_TRY(plan(spec, joined.news));
  NOMAD_TRY(save(id, record));
  const auto give_up = [this, &id, was_there](const Error& why) -> Error {
    if (was_there) return why;  // The record stays, too: `leave` comes.
    static_cast<void>(leave_in_turn(id));
    return why;
  };
  if (!was_there)
    if (auto made = tools_.make_namespace(id); !made)
      return give_up(made.error().within("failed to create network for alloc"));
  if (auto admitted = admit(spec.mode); !admitted)
    return give_up(admitted.error().within("failed to configure networking for alloc"));
  if (auto added = add_patiently(spec, old ? address_of(*old) : std::string{}, record, stopped);
      !added)
    return give_up(added.error().within("failed to configure networking for alloc"));
  joined.status = record.status();
  joined.is_other = !was_there || (old && address_of(*old) != address_of(record));
  return joined;
}

Result<> AllocNetworks::leave_in_turn(const std::string& alloc_id) const {
  Result<> outcome;
  const auto record = load(alloc_id);
  if (record && *record)
    outcome = undo(alloc_id, **record);
  else if (tools_.has_namespace(alloc_id) || !record)
    outcome = sweep("iptables", alloc_id, {});
  else
    return {};
  if (auto removed = tools_.remove_namespace(alloc_id); !removed && outcome)
    outcome = removed.error();
  if (!outcome) return outcome;
  return forget(alloc_id);
}

}  // namespace nomad::network

#include "cli/completion/value_kinds.hpp"

#include <algorithm>
#include <array>

namespace nomad::cli {
namespace {

enum class Repeats : bool { no, yes };

/// What the words behind a command are: the first, the second, and if there may be more of the
/// last one.
struct CommandWords {
  std::string_view command;
  ValueKind first;
  ValueKind second = ValueKind::nothing;
  Repeats repeats = Repeats::no;
};

/// A name that ends with a space: of those that begin so. The first that fits counts.
constexpr auto words_of_commands = [] {
  using enum ValueKind;
  return std::to_array<CommandWords>({
      {"acl auth-method create", nothing},
      {"acl auth-method list", nothing},
      {"acl auth-method ", auth_methods},
      {"acl binding-rule create", nothing},
      {"acl binding-rule list", nothing},
      {"acl binding-rule ", binding_rules},
      {"acl bootstrap", files},
      {"acl policy apply", policies, files},
      {"acl policy delete", policies},
      {"acl policy info", policies},
      {"acl role create", nothing},
      {"acl role list", nothing},
      {"acl role ", roles},
      {"acl token delete", tokens},
      {"acl token info", tokens},
      {"acl token update", tokens},
      {"alloc exec", allocs},
      {"alloc fs", allocs, alloc_files},
      {"alloc logs", allocs, tasks},
      {"alloc pause", allocs, tasks},
      {"alloc restart", allocs, tasks},
      {"alloc signal", allocs, tasks},
      {"alloc ", allocs},
      {"config validate", files, files, Repeats::yes},
      {"deployment list", nothing},
      {"deployment ", deployments},
      {"dev", files},
      {"eval delete", evals, evals, Repeats::yes},
      {"eval status", evals},
      {"fmt", files, files, Repeats::yes},
      {"job action", nothing},  // an action of the job that -job names
      {"job dispatch", jobs, files},
      {"job init", nothing},
      {"job periodic force", jobs},
      {"job plan", files},
      {"job revert", jobs, versions},
      {"job run", files},
      {"job scale", jobs, groups},
      {"job stop", jobs, jobs, Repeats::yes},
      {"job start", jobs, jobs, Repeats::yes},
      {"job validate", files},
      {"job ", jobs},
      {"namespace apply", files},
      {"namespace delete", namespaces},
      {"namespace inspect", namespaces},
      {"namespace status", namespaces},
      {"node drain", nodes, nodes, Repeats::yes},
      {"node eligibility", nodes},
      {"node pool apply", files},
      {"node pool init", nothing},
      {"node pool list", nothing},
      {"node pool ", node_pools},
      {"node status", nodes, nodes, Repeats::yes},
      {"operator audit verify", files, files, Repeats::yes},
      {"operator capacity", jobs},
      {"operator client-state", files},
      {"operator raft info", files},
      {"operator raft logs", files},
      {"operator raft state", files},
      {"operator snapshot ", files},
      {"plugin status", plugins},
      {"plugin validate", files},
      {"quota apply", files},
      {"quota init", nothing},
      {"quota list", nothing},
      {"quota ", quotas},
      {"scaling policy info", scaling_policies},
      {"sentinel apply", sentinel_policies, files},
      {"sentinel delete", sentinel_policies},
      {"sentinel read", sentinel_policies},
      {"server force-leave", servers},
      {"service delete", services},
      {"service info", services},
      {"status", identifiers},
      {"tls ca info", files},
      {"tls cert info", files},
      {"ui", identifiers},
      {"var init", nothing},
      {"var list", variables},
      {"var put", variables, files},
      {"var ", variables},
      {"why", identifiers},
  });
}();

struct FlagValue {
  std::string_view flag;
  ValueKind kind;
};

constexpr auto values_of_flags = [] {
  using enum ValueKind;
  return std::to_array<FlagValue>({
      {"alloc", allocs},
      {"alloc-dir", files},
      {"auth-method", auth_methods},
      {"ca", files},
      {"ca-cert", files},
      {"ca-path", files},
      {"ca-file", files},
      {"cert-file", files},
      {"client-cert", files},
      {"client-key", files},
      {"cluster-region", regions},
      {"config", files},
      {"data-dir", files},
      {"group", groups},
      {"job", jobs},
      {"eval", evals},
      {"key", files},
      {"key-file", files},
      {"method", auth_methods},
      {"namespace", namespaces},
      {"node", nodes},
      {"node-id", nodes},
      {"node-pool", node_pools},
      {"output", files},
      {"plugin-dir", files},
      {"policy", policies},
      {"region", regions},
      {"role-name", roles},
      {"report", files},
      {"server-id", servers},
      {"state-dir", files},
      {"task", tasks},
      {"var-file", files},
  });
}();

struct FewWords {
  std::string_view flag;
  std::span<const std::string_view> words;
};

constexpr auto log_levels
    = std::to_array<std::string_view>({"DEBUG", "ERROR", "INFO", "OFF", "TRACE", "WARN"});
constexpr auto variable_formats
    = std::to_array<std::string_view>({"go-template", "hcl", "json", "none", "table"});
constexpr auto task_signals = std::to_array<std::string_view>(
    {"SIGABRT", "SIGALRM", "SIGCONT", "SIGHUP", "SIGINT", "SIGIO", "SIGKILL", "SIGQUIT", "SIGSTOP",
     "SIGTERM", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGWINCH"});
constexpr auto few_words = std::to_array<FewWords>({
    {"in", variable_formats},
    {"log-level", log_levels},
    {"out", variable_formats},
    {"s", task_signals},
});

}  // namespace

ValueKind kind_of_word(std::string_view command, const GivenWords& given) {
  using enum ValueKind;
  const auto at = std::ranges::find_if(words_of_commands, [command](const CommandWords& one) {
    return one.command.ends_with(' ') ? command.starts_with(one.command) : command == one.command;
  });
  if (at == words_of_commands.end()) return nothing;
  // "alloc logs -job web": the first word is a job's.
  if (at->first == allocs && given.has_flag("job")) return given.words.empty() ? jobs : nothing;
  if (given.words.empty()) return at->first;
  return given.words.size() == 1 || at->repeats == Repeats::yes ? at->second : nothing;
}

ValueKind kind_of_flag(std::string_view command, std::string_view flag) {
  using enum ValueKind;
  if (flag == "group" && !command.starts_with("job ") && command != "operator capacity")
    return nothing;
  if (flag == "task" && !command.starts_with("alloc ")) return nothing;
  const auto at = std::ranges::find(values_of_flags, flag, &FlagValue::flag);
  return at == values_of_flags.end() ? nothing : at->kind;
}

std::span<const std::string_view> words_of_flag(std::string_view flag) {
  const auto at = std::ranges::find(few_words, flag, &FewWords::flag);
  return at == few_words.end() ? std::span<const std::string_view>{} : at->words;
}

}  // namespace nomad::cli

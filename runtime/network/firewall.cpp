#include "runtime/network/firewall.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace nomad::network {
namespace {

/// Of the chains that CNI plugins make, those that belong to one container: their names end in a
/// digest.
bool is_own_chain(std::string_view chain) {
  return chain.starts_with("CNI-") && chain != "CNI-FORWARD" && chain != "CNI-ADMIN"
         && !chain.starts_with("CNI-HOSTPORT-");
}

std::string_view word_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == line.npos) return {};
  const auto rest = line.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

bool names(std::string_view rule,
           std::string_view alloc_id,
           const std::vector<std::string>& addresses) {
  if (rule.find(alloc_id) != rule.npos) return true;
  // Without a comment: those of the firewall plugin, which stand in a chain of CNI's.
  if (!word_after(rule, "-A ").starts_with("CNI-")) return false;
  return std::ranges::any_of(addresses, [rule](const std::string& address) {
    return rule.find(fmt::format(" {}/32 ", address)) != rule.npos
           || rule.find(fmt::format(" {}/128 ", address)) != rule.npos;
  });
}

struct Table {
  std::vector<std::string_view> rules;  ///< To be deleted.
  std::set<std::string_view> chains;    ///< Likewise, with what is in them.
};

std::map<std::string_view, Table> look(std::string_view saved,
                                       std::string_view alloc_id,
                                       const std::vector<std::string>& addresses) {
  std::map<std::string_view, Table> tables;
  std::string_view table;
  while (!saved.empty()) {
    const auto end = saved.find('\n');
    const auto line = saved.substr(0, end);
    saved = end == saved.npos ? std::string_view{} : saved.substr(end + 1);
    if (line.starts_with('*')) table = line.substr(1);
    if (!line.starts_with("-A ") || !names(line, alloc_id, addresses)) continue;
    auto& found = tables[table];
    const auto from = word_after(line, "-A ");
    if (is_own_chain(from))
      found.chains.insert(from);
    else
      found.rules.push_back(line);
    if (const auto to = word_after(line, " -j "); is_own_chain(to)) found.chains.insert(to);
  }
  return tables;
}

}  // namespace

std::vector<std::string> admin_rule(std::string_view verb, const BridgeOptions& bridge) {
  return {"-w",          "5",  std::string{verb}, std::string{admin_chain}, "-o", bridge.name, "-d",
          bridge.subnet, "-j", "ACCEPT"};
}

std::string rules_removal(std::string_view saved,
                          std::string_view alloc_id,
                          const std::vector<std::string>& addresses) {
  std::string text;
  for (const auto& [table, found] : look(saved, alloc_id, addresses)) {
    text += fmt::format("*{}\n", table);
    for (const auto rule : found.rules)
      text += fmt::format("-D {}\n", rule.substr(3));
    for (const auto chain : found.chains)
      text += fmt::format("-F {}\n", chain);
    for (const auto chain : found.chains)
      text += fmt::format("-X {}\n", chain);
    text += "COMMIT\n";
  }
  return text;
}

}  // namespace nomad::network

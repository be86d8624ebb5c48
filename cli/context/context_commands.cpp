// context add, delete, list, show, use: clusters by names of the user's own.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/context/contexts.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// The name may stand before the flags.
std::vector<std::string> name_last(std::vector<std::string> words) {
  if (words.size() > 1 && !words[0].starts_with('-'))
    std::rotate(words.begin(), words.begin() + 1, words.end());
  return words;
}

Pairs pairs_of(const std::string& name, const Context& context, bool has_token) {
  return {{"Name", name},
          {"Address", context.address},
          {"Region", context.region},
          {"Namespace", context.ns},
          {"CA Cert", context.ca_cert},
          {"CA Path", context.ca_path},
          {"Client Cert", context.client_cert},
          {"Client Key", context.client_key},
          {"TLS Server Name", context.tls_server_name},
          {"TLS Skip Verify", context.tls_skip_verify ? "true" : "false"},
          {"Token", has_token ? "of the last login" : ""}};
}

boost::json::value as_json(const Contexts& contexts) {
  boost::json::array all;
  for (const auto& [name, context] : contexts.all)
    all.push_back(boost::json::object{{"Name", name},
                                      {"Current", name == contexts.current},
                                      {"Address", context.address},
                                      {"Region", context.region},
                                      {"Namespace", context.ns}});
  return all;
}

}  // namespace

Result<int> run_context_add(const std::vector<std::string>& arguments) {
  Arguments command{"context add [options] <name>",
                    "Keeps how to reach a cluster under a name; one of that name is replaced. The "
                    "first one is used from then on. Flags say all: the environment is not looked "
                    "at."};
  Context context;
  command.option("address", context.address, "The agent's address, or several (NOMAD_ADDR).");
  command.option("region", context.region, "The region to ask.");
  command.option("namespace", context.ns, "The namespace.");
  command.option("ca-cert", context.ca_cert, "The CA's certificate, a PEM file.");
  command.option("ca-path", context.ca_path, "A folder of such files.");
  command.option("client-cert", context.client_cert, "A certificate to show, a PEM file.");
  command.option("client-key", context.client_key, "Its key.");
  command.option("tls-server-name", context.tls_server_name, "The name in the certificate.");
  command.flag("tls-skip-verify", context.tls_skip_verify, "Believes any certificate.");
  if (auto code = command.parse(name_last(arguments), one_word("<name>"))) return *code;
  const auto& name = command.positional()[0];
  NOMAD_TRY(check_context_name(name));
  if (context.address.empty()) return command.misuse("-address is missing");
  for (const auto& address : net::split_addresses(context.address))
    NOMAD_TRY(net::Endpoint::parse(address));
  auto contexts = NOMAD_TRY(load_contexts());
  const bool is_moved
      = contexts.all.contains(name) && contexts.all.at(name).address != context.address;
  contexts.all[name] = std::move(context);
  if (contexts.current.empty()) contexts.current = name;
  NOMAD_TRY(save_contexts(contexts));
  if (is_moved) NOMAD_TRY(remove_token(name));  // a token is for the address that gave it
  std::cout << fmt::format("Context {} is kept{}.\n", quote(name),
                           contexts.current == name ? " and used" : "");
  return 0;
}

Result<int> run_context_delete(const std::vector<std::string>& arguments) {
  Arguments command{"context delete <name>", "Forgets a context and its token."};
  if (auto code = command.parse(arguments, one_word("<name>"))) return *code;
  const auto& name = command.positional()[0];
  auto contexts = NOMAD_TRY(load_contexts());
  NOMAD_TRY(find_context(contexts, name));
  contexts.all.erase(name);
  if (contexts.current == name) contexts.current.clear();
  NOMAD_TRY(remove_token(name));
  NOMAD_TRY(save_contexts(contexts));
  std::cout << fmt::format("Context {} is gone.\n", quote(name));
  return 0;
}

Result<int> run_context_list(const std::vector<std::string>& arguments) {
  Arguments command{"context list [options]", "Lists the contexts; a star marks the one in use."};
  const OutputFlags output{command};
  if (auto code = command.parse(arguments, WordCount{})) return *code;
  const auto contexts = NOMAD_TRY(load_contexts());
  if (auto code = output.print(as_json(contexts))) return *code;
  if (contexts.all.empty()) {
    std::cout << "No contexts\n";
    return 0;
  }
  Rows rows{{"Name", "Address", "Namespace", "Used"}};
  for (const auto& [name, context] : contexts.all)
    rows.push_back({name, context.address, context.ns, name == contexts.current ? "*" : "-"});
  std::cout << table(rows) << '\n';
  return 0;
}

Result<int> run_context_show(const std::vector<std::string>& arguments) {
  Arguments command{"context show [<name>]", "Shows a context; without a name the one in use."};
  if (auto code = command.parse(arguments, optional_word("<name>"))) return *code;
  const auto contexts = NOMAD_TRY(load_contexts());
  const auto name = command.positional().empty() ? contexts.current : command.positional().front();
  if (name.empty()) return mistake("No context is in use: `context use` chooses one");
  const auto context = NOMAD_TRY(find_context(contexts, name));
  const bool has_token = !NOMAD_TRY(load_token(name)).empty();
  std::cout << pairs(pairs_of(name, context, has_token)) << '\n';
  return 0;
}

Result<int> run_context_use(const std::vector<std::string>& arguments) {
  Arguments command{"context use [options] [<name>]",
                    "Has all commands use a context. NOMAD_ADDR and -address win over it."};
  auto& none = command.flag("none", "None is used any more.");
  if (auto code = command.parse(arguments, optional_word("<name>"))) return *code;
  if (none != command.positional().empty())
    return command.misuse("This command takes one argument: <name>, or -none");
  auto contexts = NOMAD_TRY(load_contexts());
  contexts.current = none ? std::string{} : command.positional().front();
  if (!none) NOMAD_TRY(find_context(contexts, contexts.current));
  NOMAD_TRY(save_contexts(contexts));
  std::cout << (none ? std::string{"No context is used.\n"}
                     : fmt::format("Context {} is used.\n", quote(contexts.current)));
  return 0;
}

}  // namespace nomad::cli

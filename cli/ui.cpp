// ui: opens the web UI, at the page of an object if one is named.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/browser.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// Objects with a page of their own: their context in a search, and where the page is.
struct Linked {
  std::string_view context;
  std::string_view path;
};

constexpr Linked linked_objects[] = {{"jobs", "/ui/jobs/"},
                                     {"allocs", "/ui/allocations/"},
                                     {"nodes", "/ui/clients/"},
                                     {"evals", "/ui/evaluations/"}};

/// The one object that the search has found, as the path of its page.
Result<std::string> page_of(const View& matches, const std::string& id, const CommonFlags& common) {
  std::string found;
  std::string several;
  std::size_t count = 0;
  for (const auto& [context, path] : linked_objects) {
    const auto& ids = matches[context];
    if (ids.items().empty()) continue;
    const auto first = ids.items()[0].text();
    std::vector<std::string> all;
    for (const auto& one : ids.items())
      all.push_back(one.text());
    several += fmt::format("\n\n{}:\n{}", context, join(all, ", "));
    count += all.size();
    if (found.empty() || first == id) found = std::string{path} + segment(first);
    if (context == "jobs" && found.ends_with(segment(first)) && !common.ns.empty())
      found += '@' + segment(common.ns);
    if (first == id) return found;
  }
  if (count == 0) return mistake(fmt::format("Unable to resolve ID: \"{}\"", id));
  if (count > 1) return mistake(fmt::format("Multiple matches found for id \"{}\"{}", id, several));
  return found;
}

Result<std::string> find_page(Api& api, const std::string& id, const CommonFlags& common) {
  const auto answer
      = NOMAD_TRY(api.put("/v1/search", boost::json::object{{"Prefix", id}, {"Context", "all"}})
                      .within(fmt::format("Error querying search with id \"{}\"", id)));
  return page_of(answer.view()["Matches"], id, common);
}

std::string with_parameters(std::string url, const Query& parameters) {
  char mark = '?';
  for (const auto& [name, value] : parameters) {
    url += mark + name + '=' + percent_encode(value, "");
    mark = '&';
  }
  return url;
}

}  // namespace

Result<int> run_ui(const std::vector<std::string>& arguments) {
  ApiCommand command{"ui [options] <identifier>",
                     "Opens the web UI in the browser: at the page of a job, an allocation, a node "
                     "or an evaluation, if the beginning of its id is given."};
  auto& authenticates
      = command.flag("authenticate",
                     "The page has the rights of this command's token: it gets them for a secret "
                     "that counts once.");
  auto& shows = command.flag("show-url", "Prints the URL and opens nothing.");
  const WordCount words{0, 1, "This command takes no or one optional argument, [<identifier>]"};
  if (auto code = command.start(arguments, words)) return *code;
  auto& common = command.common;
  const auto addresses = net::split_addresses(NOMAD_TRY(common.client_options()).address);
  // Of several the browser gets one that answers.
  if (addresses.size() > 1) NOMAD_TRY(command.api->get("/v1/status/leader"));
  auto url = addresses.size() > 1 ? command.api->address() : addresses.front();
  while (url.ends_with('/'))
    url.pop_back();
  Query parameters;
  if (!common.ns.empty()) parameters.emplace_back("namespace", common.ns);
  if (!common.region.empty()) parameters.emplace_back("region", common.region);
  std::string secret;
  if (authenticates) {
    const auto answer = NOMAD_TRY(
        command.api->put("/v1/acl/token/onetime", nullptr).within("Could not get one-time token"));
    secret = answer.view()["OneTimeToken"]["OneTimeSecretID"].text();
  }
  if (!command.positional().empty())
    url += NOMAD_TRY(find_page(*command.api, command.positional()[0], common));
  const auto shown = with_parameters(url, parameters);
  if (!secret.empty()) parameters.emplace_back("ott", secret);
  const auto whole = with_parameters(url, parameters);
  if (shows) {
    std::cout << "URL for web UI: " << whole << '\n';
    return 0;
  }
  std::cout << fmt::format("Opening URL \"{}\"{}\n", shown,
                           secret.empty() ? "" : " with one-time token");
  if (!open_browser(whole))
    return mistake("Error opening URL: no xdg-open was found; -show-url prints it");
  return 0;
}

}  // namespace nomad::cli

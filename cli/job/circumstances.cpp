#include "cli/job/circumstances.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::cli {
namespace {

using Verb = CircumstanceWords::Verb;

}  // namespace

Result<CircumstanceWords> read_circumstance(std::string_view text) {
  const auto words = fields(text);
  if (words.size() == 2 && words[0] == "drain")
    return CircumstanceWords{Verb::drain, std::string{words[1]}};
  if (words.size() == 2 && words[0] == "remove")
    return CircumstanceWords{Verb::remove, std::string{words[1]}};
  if (words.size() == 4 && words[0] == "add" && words[2] == "like")
    if (const auto count = nomad::whole_number<std::int64_t>(words[1]); count && *count > 0)
      return CircumstanceWords{Verb::add, std::string{words[3]}, *count};
  return Error{Errc::invalid_argument,
               fmt::format("\"{}\" is nothing that a plan can suppose: it is \"drain NODE\", "
                           "\"remove NODE\" or \"add 3 like NODE\", with a node's name or the "
                           "beginning of its id",
                           text)};
}

Result<std::string> node_meant(const View& nodes, const std::string& word) {
  std::vector<std::string> named;
  std::vector<std::string> begun;
  for (const auto& node : nodes.items()) {
    const auto id = node["ID"].text();
    if (node["Name"].text() == word) named.push_back(id);
    if (id.starts_with(word)) begun.push_back(id);
  }
  const auto& meant = named.empty() ? begun : named;
  if (meant.size() == 1) return meant.front();
  if (meant.empty())
    return Error{Errc::not_found,
                 fmt::format("No node has the name \"{}\", or an id that begins so; see {}", word,
                             "node status")};
  return Error{Errc::invalid_argument,
               fmt::format("\"{}\" means {} nodes, as {} and {}: give more of the id", word,
                           meant.size(), meant[0], meant[1])};
}

Result<boost::json::array> circumstances(Api& api, const std::vector<std::string>& texts) {
  boost::json::array out;
  if (texts.empty()) return out;
  std::vector<CircumstanceWords> all;
  for (const auto& text : texts)
    all.push_back(NOMAD_TRY(read_circumstance(text)));
  const auto nodes = NOMAD_TRY(api.get("/v1/nodes"));
  for (const auto& one : all) {
    const auto id = NOMAD_TRY(node_meant(nodes.view(), one.node));
    switch (one.verb) {
      case Verb::drain:
        out.push_back(boost::json::object{{"Drain", id}});
        break;
      case Verb::remove:
        out.push_back(boost::json::object{{"Remove", id}});
        break;
      case Verb::add:
        out.push_back(boost::json::object{{"Add", one.count}, {"Like", id}});
        break;
    }
  }
  return out;
}

}  // namespace nomad::cli

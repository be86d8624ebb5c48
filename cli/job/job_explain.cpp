// job explain: which nodes would take one more of a job's groups, what is against the others, and
// with which change it would fit; of an allocation, why it is where it is. Nomad has nothing like
// it. Its page in the docs is docs/explain.md.
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/job/explained.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// Fitting nodes that are listed, unless all are wanted.
constexpr std::size_t most_fitting_shown = 5;

/// Exit status where something waits that fits nowhere.
constexpr int fits_nowhere = 2;

std::string score_terms(const View& scored) {
  std::vector<std::string> terms;
  for (const auto& [name, value] : scored["Scores"].members())
    if (value.real() != 0) terms.push_back(fmt::format("{} {:.3f}", name, value.real()));
  return join(terms, ", ");
}

std::string shown_score(const View& scored) {
  return fmt::format("{:.3f}", scored["NormScore"].real());
}

std::string node_names_of(const View& node_class) {
  std::vector<std::string> names;
  for (const auto& node : node_class["Nodes"].items())
    names.push_back(node["Name"].text());
  const auto count = static_cast<std::size_t>(node_class["Count"].number());
  return join(names, ", ") + (count > names.size() && !names.empty() ? ", ..." : "");
}

std::string reasons_of(const View& refused) {
  std::vector<std::string> texts;
  for (const auto& reason : refused["Reasons"].items())
    texts.push_back(reason["Text"].text());
  return join(texts, "; ");
}

std::string refused_table(const View& group) {
  Rows rows{{"Nodes", "Against them", "Such as"}};
  for (const auto& refused : group["Refused"].items())
    rows.push_back({refused["Count"].text(), reasons_of(refused), node_names_of(refused)});
  auto text = table(rows);
  if (const auto others = group["OtherClasses"].number(); others > 0)
    text += fmt::format("\n{} more nodes in {} other lines", group["NodesOfOtherClasses"].number(),
                        others);
  return text;
}

std::string fitting_table(const View& group, bool verbose) {
  const auto all = group["Fitting"].items();
  Rows rows{{"Rank", "Node", "Name", "Score", "Of it"}};
  for (std::size_t i = 0; i < all.size() && (verbose || i < most_fitting_shown); ++i) {
    const auto& node = all[i];
    auto terms = score_terms(node);
    if (const auto ended = node["Preempted"].number(); ended > 0)
      terms += fmt::format("{}{} preempted", terms.empty() ? "" : ", ", ended);
    rows.push_back({node["Rank"].number() == 0 ? "-" : node["Rank"].text(),
                    shown_id(node["NodeID"].text(), verbose), node["NodeName"].text(),
                    shown_score(node), terms});
  }
  return table(rows);
}

std::string bullets_of(const View& items, std::string_view member) {
  std::vector<std::string> lines;
  for (const auto& item : items.items())
    lines.push_back("* " + one_line(item[member].text()));
  return join(lines, "\n");
}

std::string suggestions_of(const View& group) {
  std::vector<std::string> lines;
  for (const auto& one : group["Suggestions"].items()) {
    const auto node = one["NodeName"].text();
    const auto taker = node.empty() ? std::string{} : fmt::format(": {} would take it", node);
    lines.push_back("* " + one_line(one["Text"].text() + taker));
  }
  return join(lines, "\n");
}

void print_node(const View& node, bool verbose) {
  if (node["Fits"].truth()) {
    const auto rank = node["Rank"].number();
    std::cout << fmt::format("\nNode {} ({}) fits: score {}{}{}\n",
                             shown_id(node["NodeID"].text(), verbose), node["NodeName"].text(),
                             shown_score(node), rank == 0 ? "" : fmt::format(", rank {}", rank),
                             score_terms(node).empty() ? "" : " (" + score_terms(node) + ")");
    return;
  }
  print_section(fmt::format("Against node {} ({})", shown_id(node["NodeID"].text(), verbose),
                            node["NodeName"].text()),
                bullets_of(node["Reasons"], "Text"));
}

void print_group(const View& group, bool verbose) {
  std::cout << '\n' << title(one_line(group["Summary"].text())) << '\n';
  if (const auto looked = group["NodesLookedAt"].number(); looked < group["Nodes"].number())
    std::cout << fmt::format(
        "Only {} of {} nodes were looked at: more would take too long; name a group or a node\n",
        looked, group["Nodes"].number());
  if (!group["QuotaExceeded"].items().empty()) {
    std::vector<std::string> lines;
    for (const auto& one : group["QuotaExceeded"].items())
      lines.push_back("* " + one_line(one.text()));
    print_section("Beyond the quota", join(lines, "\n"));
  }
  if (!group["Waits"].items().empty()) print_section("Waits", bullets_of(group["Waits"], "Text"));
  if (!group["Refused"].items().empty())
    print_section("Nodes that do not fit", refused_table(group));
  if (!group["Fitting"].items().empty())
    print_section(fmt::format("Nodes that fit ({})", group["NodesFitting"].text()),
                  fitting_table(group, verbose));
  if (!group["Node"].is_null()) print_node(group["Node"], verbose);
  if (const auto lines = suggestions_of(group); !lines.empty())
    print_section("One more would fit with any of these", lines);
}

void print_alloc(const View& alloc, bool verbose) {
  Pairs shown{{"Allocation", shown_id(alloc["ID"].text(), verbose)},
              {"Name", alloc["Name"].text()},
              {"Node", fmt::format("{} ({})", shown_id(alloc["NodeID"].text(), verbose),
                                   alloc["NodeName"].text())},
              {"Desired Status", alloc["DesiredStatus"].text()},
              {"Client Status", alloc["ClientStatus"].text()}};
  if (const auto then = alloc["Then"]; !then.is_null()) {
    shown.emplace_back("When placed",
                       fmt::format("score {}, rank {} of {} that are known; {} nodes looked at, {} "
                                   "filtered, {} without room",
                                   shown_score(then), then["Rank"].number(), then["Of"].number(),
                                   then["NodesEvaluated"].number(), then["NodesFiltered"].number(),
                                   then["NodesExhausted"].number()));
    shown.emplace_back("Of it", score_terms(then));
  }
  if (const auto now = alloc["Now"]; now["Fits"].truth()) {
    shown.emplace_back(
        "Now",
        fmt::format("score {}{} of {} nodes that fit", shown_score(now),
                    now["Rank"].number() == 0 ? "" : fmt::format(", rank {}", now["Rank"].number()),
                    alloc["NodesFittingNow"].number()));
    shown.emplace_back("Of it now", score_terms(now));
  }
  std::cout << '\n' << pairs(shown) << '\n';
  const auto now = alloc["Now"];
  if (!now.is_null() && !now["Fits"].truth())
    print_section("Its node would not take it now", bullets_of(now["Reasons"], "Text"));
  if (!alloc["Waits"].items().empty())
    print_section("It waits", bullets_of(alloc["Waits"], "Text"));
}

void print_explanation(const View& explained, bool verbose) {
  std::cout << fmt::format("Job \"{}\" ({}, version {}, namespace \"{}\")\n",
                           explained["JobID"].text(), explained["Type"].text(),
                           explained["Version"].number(), explained["Namespace"].text());
  if (!explained["Allocation"].is_null()) print_alloc(explained["Allocation"], verbose);
  for (const auto& group : explained["Groups"].items())
    print_group(group, verbose);
  if (const auto others = explained["OtherGroups"].number(); others > 0)
    std::cout << fmt::format("\n{} more groups: name one with -group\n", others);
}

int exit_code(const View& explained) {
  for (const auto& group : explained["Groups"].items())
    if (group["Queued"].number() > 0
        && (group["NodesFitting"].number() == 0 || !group["QuotaExceeded"].items().empty()))
      return fits_nowhere;
  return 0;
}

std::string explain_path(const std::string& job) {
  return "/v1/job/" + segment(job) + "/explain";
}

}  // namespace

std::string placement_summary(Api& api, const std::string& job) {
  const auto answer = api.get(explain_path(job));
  if (!answer) return {};
  for (const auto& group : answer->view()["Groups"].items())
    if (group["Queued"].number() > 0) return one_line(answer->view()["Summary"].text());
  return {};
}

Result<int> run_job_explain(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "job explain [options] <job>",
      "Says for each group which nodes would take one more allocation, what is against the others, "
      "and with which change it would fit; each such change was tried. Exits with 2 if something "
      "waits that fits nowhere."};
  OutputFlags output{command};
  auto& group = command.option("group", "Only this group.");
  auto& node = command.option("node", "All that is against this node, by its id or name.");
  auto& alloc = command.option("alloc", "Why this allocation is where it is, or waits.");
  auto& verbose = command.flag("verbose", "Shows whole ids and more nodes.");
  command.flags_may_follow_words();
  if (auto code = command.start(arguments, one_word("<job>"))) return *code;
  const auto job = NOMAD_TRY(find_job(*command.api, command.positional()[0]));
  Query query;
  for (const auto& [name, value] : {std::pair{"group", &group}, {"node", &node}, {"alloc", &alloc}})
    if (!value->empty()) query.emplace_back(name, *value);
  const auto answer
      = NOMAD_TRY(command.api->get(explain_path(job), query).within("Error explaining job"));
  if (auto code = output.print(answer.body)) return *code;
  print_explanation(answer.view(), verbose);
  return exit_code(answer.view());
}

}  // namespace nomad::cli

// /v1/operator/decisions: what the scheduler's newest decisions on a server were made from, and
// what they led to.
#include <charconv>

#include "actors/api/http/json_out.hpp"
#include "actors/api/http/read_options.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/access/verdicts.hpp"

namespace nomad::api {
namespace {

using server::KeptDecisions;

constexpr std::int32_t most_on_page = 1'000;
constexpr std::int32_t usual_on_page = 100;

struct Wanted {
  server::ReadDecisions from;
  bool with_reserves = false;
};

Result<Wanted> wanted(const net::Request& request) {
  const auto options = NOMAD_TRY(parse_read_options(request));
  Wanted wanted;
  wanted.from.eval_prefix = request.parameter_or_empty("eval");
  const auto page = options.per_page > 0 ? options.per_page : usual_on_page;
  wanted.from.most = static_cast<std::size_t>(std::min(page, most_on_page));
  wanted.with_reserves = NOMAD_TRY(bool_parameter(request, "reserves"));
  const auto& token = options.next_token;
  const auto* end = token.data() + token.size();
  const auto parsed = std::from_chars(token.data(), end, wanted.from.before);
  if (!token.empty() && (parsed.ec != std::errc{} || parsed.ptr != end))
    return bad_request("next_token is not the number of a decision: \"" + token + "\"");
  return wanted;
}

void append_decision(std::string& out, const KeptDecisions::Row& row, bool with_reserves) {
  JsonObject object{out};
  if (with_reserves) {
    object.members(*row.decision);
  } else {
    Draft<schema::KeptDecision> shown{row.decision};
    shown->disownReserves();
    shown->disownResources();
    object.members(shown.reader());
  }
  if (row.end) object.object("PlanEnd", *row.end);
}

Outcome list_decisions(Call& call, const server::DecisionLog& decisions) {
  if (!decisions)
    return Error{Errc::unavailable,
                 "this server keeps no decisions; its log says why since its start"};
  auto wanted_rows = NOMAD_TRY(wanted(call.request()));
  auto question = wanted_rows.from;
  return ask<KeptDecisions>(
      call, decisions, std::move(question),
      [who = call.asking.who,
       with_reserves = wanted_rows.with_reserves](const KeptDecisions& kept) {
        access::Verdicts verdicts{who};
        std::vector<const KeptDecisions::Row*> seen;
        for (const auto& row : kept.rows)
          if (verdicts.judge(Capability::read_job,
                             view(row.decision->getEvaluation().getNamespace())))
            seen.push_back(&row);
        auto answer = Answer::json(json_list(seen, [&](std::string& out, const auto* row) {
          append_decision(out, *row, with_reserves);
        }));
        if (kept.has_more && !kept.rows.empty())
          answer.next_token = std::to_string(kept.rows.back().decision->getNumber());
        return answer;
      });
}

}  // namespace

void add_decision_routes(Routes& routes, server::DecisionLog decisions) {
  const auto with = routes.with(std::move(decisions));
  routes.exact("/v1/operator/decisions",
               {{Methods::get, Capability::operator_read, with(list_decisions)}});
}

}  // namespace nomad::api

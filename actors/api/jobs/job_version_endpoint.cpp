// /v1/job/<id>/versions and /v1/job/<id>/versions/<tag>/tag: the versions that are kept of a job,
// what is different in them, and the names that people give them. Tests: job_versions_test.
#include <algorithm>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/cluster/jobs/version_tags.hpp"
#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

using cluster::EvalSeed;
using cluster::TagDecision;
using server::Written;
using state::Snapshot;
using state::Table;
using Versions = std::vector<Object<schema::Job>>;

/// More versions than these are compared on the query pool.
constexpr std::size_t most_compared_at_once = 8;

// -- the versions, and what is different in them

/// Which differences are asked for.
struct Comparison {
  bool is_wanted = false;
  std::string tag = {};                       ///< Of the version that all are compared with.
  std::optional<std::uint64_t> version = {};  ///< The same, where no tag says it.

  bool is_with_one() const { return !tag.empty() || version; }
};

Result<Comparison> read_comparison(const net::Request& request) {
  Comparison asked{.is_wanted = NOMAD_TRY(bool_parameter(request, "diffs"))};
  asked.tag = request.parameter_or_empty("diff_tag");
  const std::string text{request.parameter_or_empty("diff_version")};
  if (text.empty()) return asked;
  const auto number = parse_uint(text, 10);
  if (!number)
    return bad_request("Failed to parse value of \"diff_version\" (" + text
                       + ") as a uint64: " + number.error().what);
  asked.version = *number;
  return asked;
}

/// Of `versions` the one that all are compared with.
Result<Object<schema::Job>> compared_with(const Versions& versions, const Comparison& asked) {
  for (const auto& version : versions) {
    const bool is_it
        = asked.tag.empty()
              ? version->getVersion() == asked.version
              : version->hasVersionTag() && view(version->getVersionTag().getName()) == asked.tag;
    if (is_it) return version;
  }
  return not_found(asked.tag.empty() ? "version " + std::to_string(*asked.version) + " not found"
                                     : "tag \"" + asked.tag + "\" not found");
}

/// From each version to the next newer one, or from one to all, in the order of `versions`; "null"
/// if there are none.
Result<std::string> diffs_of(const Versions& versions, const Comparison& asked) {
  if (!asked.is_wanted) return std::string{"null"};
  boost::json::value base;
  if (asked.is_with_one())
    base = NOMAD_TRY(parse_json(to_json(*NOMAD_TRY(compared_with(versions, asked)))));
  std::string out = "[";
  boost::json::value newer;
  for (const auto& version : versions) {
    auto tree = NOMAD_TRY(parse_json(to_json(*version)));
    const auto* const from = asked.is_with_one() ? base.if_object() : tree.if_object();
    const auto* const to = asked.is_with_one() ? tree.if_object() : newer.if_object();
    if (to != nullptr) {
      if (out.size() > 1) out += ',';
      const auto changes = jobspec::diff(from, to, true);
      out += changes ? boost::json::serialize(*changes) : "null";
    }
    newer = std::move(tree);
  }
  if (out.size() == 1) return std::string{"null"};
  return out + ']';
}

/// An old version may have been named or marked after newer ones came.
std::uint64_t newest_change(const Versions& versions) {
  std::uint64_t index = 0;
  for (const auto& version : versions)
    index = std::max(index, version->getModifyIndex());
  return index;
}

Answer versions_answer(const Versions& versions, const Comparison& asked) {
  if (versions.empty()) return Answer::error(not_found("job versions not found"));
  const auto diffs = diffs_of(versions, asked);
  if (!diffs) return Answer::error(diffs.error());
  JsonObject object;
  object.raw("Diffs") += *diffs;
  append_query_meta(object, newest_change(versions), true);
  append_json_list(object.raw("Versions"), versions, append_whole);
  return Answer::json(object.take());
}

// -- their tags

struct TagPath {
  std::string_view job_id;
  std::string_view name;
};

/// Of "<job>/versions/<tag>". A tag has no slash, a job may have some.
Result<TagPath> tag_path_of(std::string_view rest) {
  constexpr std::string_view middle = "/versions/";
  const auto at = rest.rfind(middle);
  const auto name = at == rest.npos ? std::string_view{} : rest.substr(at + middle.size());
  if (at == rest.npos || at == 0 || name.find('/') != name.npos)
    return not_found("invalid job tag endpoint");
  return TagPath{rest.substr(0, at), name};
}

Answer tagged(const Written<TagDecision>& done) {
  const auto& tag = done.decision.tag;
  JsonObject object;
  object.text("Description", tag ? view(tag->getDescription()) : std::string_view{})
      .text("Name", tag ? view(tag->getName()) : std::string_view{})
      .number("TaggedTime", tag ? tag->getTaggedTime() : 0);
  append_query_meta(object, done.index, false);
  return Answer::json(object.take()).with_index(done.index);
}

}  // namespace

Outcome job_versions(Call& call) {
  const auto asked = NOMAD_TRY(read_comparison(call.request()));
  const auto& id = call.rest;
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    const auto all_of = [ns = options.ns, id](const View& snapshot) -> Result<Versions> {
      const auto* const all = NOMAD_TRY(snapshot.in(ns));
      return all->job_versions(ns, id);
    };
    const auto is_heavy = [all_of, asked](const View& snapshot) {
      const auto versions = all_of(snapshot);
      return asked.is_wanted && versions && versions->size() > most_compared_at_once;
    };
    return Read{.watch = {state::watch_key(Table::job_versions, state::join_key(options.ns, id))},
                .index =
                    [all_of](const View& snapshot) {
                      const auto versions = all_of(snapshot);
                      if (!versions) return at_once;
                      return versions->empty() ? snapshot.index(Table::job_versions)
                                               : newest_change(*versions);
                    },
                .answer =
                    [all_of, asked](const View& snapshot) {
                      const auto versions = all_of(snapshot);
                      return versions ? versions_answer(*versions, asked)
                                      : Answer::error(versions.error());
                    },
                .is_heavy = is_heavy};
  });
}

Outcome tag_version(Call& call) {
  const auto path = NOMAD_TRY(tag_path_of(call.rest));
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "TagVersionRequest"};
  cluster::TagRequest request{.ns = write_namespace(call.request()),
                              .job_id = std::string{path.job_id},
                              .name = std::string{path.name}};
  request.description = fields.text("Description");
  const auto version = fields.unsigned_integer("Version");
  const bool latest = fields.boolean("Latest");
  NOMAD_TRY(fields.check());
  if (latest && version > 0)
    return bad_request("version must be zero when tagging latest, got: " + std::to_string(version));
  if (!latest) request.version = version;
  return write(
      call,
      [request](const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_tag_version(state, asking, request, seed);
      },
      tagged);
}

Outcome untag_version(Call& call) {
  const auto path = NOMAD_TRY(tag_path_of(call.rest));
  return write(
      call,
      [ns = write_namespace(call.request()), id = std::string{path.job_id},
       name = std::string{path.name}](const Snapshot& state, const access::Asking& asking,
                                      const EvalSeed&) {
        return cluster::decide_untag_version(state, asking, ns, id, name);
      },
      tagged);
}

}  // namespace nomad::api

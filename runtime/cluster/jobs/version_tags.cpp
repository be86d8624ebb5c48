#include "runtime/cluster/jobs/version_tags.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/bounds.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

constexpr std::size_t most_name_bytes = 1024;
constexpr std::size_t most_description_bytes = 1000;

using Versions = std::vector<Object<schema::Job>>;

Error refused_tag(std::string what) {
  return {Errc::rejected, std::move(what)};
}

Error no_such_job(std::string_view job_id) {
  return {Errc::not_found, fmt::format("job {} not found", quote(job_id))};
}

bool is_tagged(const Object<schema::Job>& version) {
  return version->hasVersionTag();
}

bool is_named(const Object<schema::Job>& version, std::string_view name) {
  return is_tagged(version) && view(version->getVersionTag().getName()) == name;
}

Result<> check_tag(const TagRequest& request) {
  if (request.name.empty()) return refused_tag("the tag has no name");
  if (request.name.size() > most_name_bytes)
    return refused_tag(fmt::format("the tag's name has {} bytes, at most {} are taken",
                                   request.name.size(), most_name_bytes));
  NOMAD_TRY(jobspec::Bounds::check_key("the tag's name", request.name));
  if (request.description.size() > most_description_bytes)
    return refused_tag(
        fmt::format("Tagged version description must be under {} characters, currently {}",
                    most_description_bytes, request.description.size()));
  return jobspec::Bounds::check_null("the tag's description", request.description);
}

/// Of `versions`, newest first, the one that is to get the tag.
Result<Object<schema::Job>> version_to_tag(const Versions& versions, const TagRequest& request) {
  if (versions.empty()) return no_such_job(request.job_id);
  const auto wanted = request.version.value_or(versions.front()->getVersion());
  Object<schema::Job> found;
  for (const auto& version : versions) {
    if (version->getVersion() == wanted)
      found = version;
    else if (is_named(version, request.name))
      return refused_tag(fmt::format("tag {} already exists on a different version of job {}",
                                     quote(request.name), quote(request.job_id)));
  }
  if (!found)
    return Error{Errc::not_found,
                 fmt::format("job {} version {} not found", quote(request.job_id), wanted)};
  const auto tagged = std::ranges::count_if(versions, is_tagged);
  if (!is_tagged(found) && std::cmp_greater_equal(tagged, most_tagged_versions))
    return refused_tag(
        fmt::format("job {} has {} versions with a tag, which is the most: take one away first",
                    quote(request.job_id), most_tagged_versions));
  return found;
}

/// To name the version, or with a null tag to take its name away.
Object<schema::Command> tagging(schema::Job::Reader version,
                                const Object<schema::JobVersionTag>& tag) {
  Draft<schema::Command> draft;
  auto command = draft->initJobVersionTagging();
  command.setNamespace(version.getNamespace());
  command.setJobId(version.getId());
  command.setVersion(version.getVersion());
  if (tag) command.setTag(*tag);
  return draft.freeze();
}

}  // namespace

Result<TagDecision> decide_tag_version(const state::Snapshot& snapshot,
                                       const access::Asking& asking,
                                       const TagRequest& request,
                                       const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {request.ns}));
  NOMAD_TRY(check_tag(request));
  const auto version
      = NOMAD_TRY(version_to_tag(snapshot.job_versions(request.ns, request.job_id), request));
  Draft<schema::JobVersionTag> tag;
  tag->setName(text(request.name));
  tag->setDescription(text(request.description));
  tag->setTaggedTime(seed.now);
  const auto named = tag.freeze();
  return TagDecision{.allowed = allowed,
                     .command = tagging(*version, named),
                     .job_id = request.job_id,
                     .tag = named};
}

Result<TagDecision> decide_untag_version(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::string_view ns,
                                         std::string_view job_id,
                                         std::string_view name) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  const auto versions = snapshot.job_versions(ns, job_id);
  if (versions.empty()) return no_such_job(job_id);
  const auto found = std::ranges::find_if(
      versions, [name](const auto& version) { return is_named(version, name); });
  if (found == versions.end())
    return Error{Errc::not_found,
                 fmt::format("tag {} not found on job {}", quote(name), quote(job_id))};
  return TagDecision{
      .allowed = allowed, .command = tagging(**found, {}), .job_id = std::string{job_id}};
}

}  // namespace nomad::cluster

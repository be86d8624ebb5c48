// A job on its way in: a draft that remembers what its request left out (DraftBlock), until
// canonicalization has written every default into it and it is frozen into the object that is
// stored.
#pragma once

#include <memory>
#include <string_view>

#include <boost/json/object.hpp>
#include <capnp/message.h>

#include "runtime/base/result.hpp"
#include "runtime/jobspec/draft_block.hpp"
#include "runtime/object/flat_json.hpp"
#include "runtime/object/object.hpp"
#include "schema/job.capnp.h"

namespace nomad::jobspec {

struct BlockType;

/// Lives on one thread.
class JobDraft {
public:
  /// Most blocks of a job: a small one may be two bytes in a request, and some kilobytes when its
  /// defaults are filled in.
  static constexpr std::size_t most_blocks = 10'000;

  /// Decodes a job in its API form. `too_large` for more than `most_blocks`. Names match whatever
  /// their case, unknown ones are ignored, and every value must have its field's type. The error's
  /// text is that of Go's JSON decoder; `path` is what of the way to a field leads to the job.
  static Result<JobDraft> decode(const JsonNode& job, std::string_view path = "Job");

  /// The same of a tree, such as `parse_job` makes.
  static Result<JobDraft> decode(const boost::json::object& job, std::string_view path = "Job");

  /// The job. Valid as long as the draft, wherever that is moved.
  DraftBlock job() { return job_; }

  const DraftBlock& job() const { return job_; }

  /// What the draft holds in the server form; what is empty in it is absent from then on, so that
  /// jobs that mean the same are the same. May be called once or more.
  Object<schema::Job> freeze() const;

private:
  explicit JobDraft(std::size_t words);

  std::unique_ptr<capnp::MallocMessageBuilder> message_;
  DraftBlock job_;
};

/// The block as a JSON tree, with what was given and no more. Only for what is not in a hurry:
/// answers, and plans.
boost::json::object tree_of(const DraftBlock& block, const BlockType& type);

/// A parsed job with the defaults of the api form filled in, and nothing added besides:
/// `jobs/parse` with Canonicalize.
Result<boost::json::object> canonical_tree(const boost::json::object& job);

}  // namespace nomad::jobspec

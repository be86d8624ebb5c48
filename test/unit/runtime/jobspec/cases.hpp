// What the job tests share: tables of cases under test/data/jobspec.
//
// The expectations in those tables were checked against the reference implementation when they were
// written.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "runtime/jobspec/job_draft.hpp"

namespace nomad::jobspec {

/// The tree in test/data/jobspec/<name>; fails the test when it cannot be read.
boost::json::value load_json(std::string_view name);

/// `base` with edits `[{at: "TaskGroups.0.Count", to: 5}]` applied. An index just behind the end
/// adds an element, a missing member is made.
boost::json::object edited(const boost::json::value& base, const boost::json::array& edits);

/// Without members that are null.
boost::json::value without_null(const boost::json::value& tree);
/// Without members that are null, zero, false or empty.
boost::json::value without_zero(const boost::json::value& tree);

/// A good service job "j" with one group "g" of one task "t", as clients write it.
boost::json::object small_job();

/// A tree as a client would have sent it, as a draft; and as one in server form.
JobDraft drafted(const boost::json::object& job);
JobDraft admitted(const boost::json::object& job);

/// What is stored of a draft in server form.
boost::json::object tree_of_stored(const JobDraft& draft);
/// What is stored of a tree as a client would have sent it.
boost::json::object stored(const boost::json::object& job);

/// Text of a value: members sorted by name, whole numbers without a point.
std::string to_text(const boost::json::value& tree);

}  // namespace nomad::jobspec

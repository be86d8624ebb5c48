// Section: reads one block of a configuration tree into values, and notes what it does not know.
//
// The tree is JSON, whichever syntax it was written in. As in Nomad's HCL, a number or boolean may
// stand where text is wanted and the other way round, and a list of one block is that block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "runtime/base/duration.hpp"

namespace nomad::config {

class Section {
public:
  /// `path` names the block in errors: "client.reserved"; empty for the whole file.
  Section(std::string path, boost::json::object tree, std::vector<std::string>& errors);

  void text(std::string_view key, std::string& target);
  void boolean(std::string_view key, bool& target);
  void integer(std::string_view key, std::int64_t& target);
  void real(std::string_view key, double& target);
  void duration(std::string_view key, Nanoseconds& target);
  /// Adds to what is there already, as merging several files does.
  void list(std::string_view key, std::vector<std::string>& target);
  void map(std::string_view key, std::map<std::string, std::string>& target);
  /// The block `key`, if there is one.
  void section(std::string_view key, const std::function<void(Section&)>& read);
  /// Each `key "label" { … }`.
  void labelled(std::string_view key,
                const std::function<void(const std::string& label, Section&)>& read);
  /// The block `key` as JSON text, whatever is in it.
  void raw(std::string_view key, std::string& json);
  /// Keys that Nomad has and that change nothing here.
  void accept(std::initializer_list<std::string_view> keys);

  /// Notes every key that none of the calls above asked for.
  void finish();

private:
  const boost::json::value* take(std::string_view key);
  std::string place(std::string_view key) const;
  void complain(std::string_view key, std::string_view problem);

  std::string path_;
  boost::json::object tree_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string>& errors_;
};

/// A block's tree: an object, or a list of objects that are merged.
boost::json::object as_block(const boost::json::value& value);

}  // namespace nomad::config

// The commands of kinds that are listed, shown, put whole and deleted by name: apply, delete, info
// and list. KIND lines of commands.def make them.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/output/json_view.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cli {

/// A kind as its commands speak of it.
struct KindWords {
  std::string noun = {};       ///< "node pool"; in files of HCL its block, with underscores.
  std::string plural = {};     ///< "node pools"
  std::string list_path = {};  ///< "/v1/node/pools": lists them, and takes new ones.
  std::string path = {};       ///< "/v1/node/pool/"
  std::vector<std::string> columns = {"Name", "Description"};  ///< What lists show.
  /// Makes of a file's text what the API takes. Null: the members of a block are those of the
  /// API, spelled with underscores.
  Result<boost::json::object> (*of_hcl)(const std::string& file, std::string text) = nullptr;
  void (*print_more)(const View& object) = nullptr;  ///< What `info` shows behind the columns.
};

/// Node pools have commands of their own besides.
KindWords node_pool_words();

/// -filter, -page-token and -per-page.
struct PageFlags {
  std::string filter, page_token;
  std::int64_t per_page = 0;

  explicit PageFlags(Arguments& parser);

  Query query() const;
};

/// The one of that name, or the only one whose name begins so.
Result<boost::json::value> find_kind(Api& api, const KindWords& words, const std::string& name);

Result<int> apply_kind(const KindWords& words, const std::vector<std::string>& arguments);
Result<int> delete_kind(const KindWords& words, const std::vector<std::string>& arguments);
Result<int> show_kind(const KindWords& words, const std::vector<std::string>& arguments);
Result<int> list_kind(const KindWords& words, const std::vector<std::string>& arguments);

}  // namespace nomad::cli

// Store: the volumes and snapshots of the sample plugin, as directories below one. What is written
// down of each is a file beside its data, so a plugin that was killed goes on where it was.
//
//     <root>/volumes/<id>/{data/,about,attached/<node>}     <root>/snapshots/<id>/{data/,about}
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nomad::csi::sample {

/// What is known of a volume or a snapshot; all of it is text in its file, a line each.
using About = std::map<std::string, std::string>;

class Store {
public:
  enum class Kind : std::uint8_t { volumes, snapshots };

  explicit Store(std::filesystem::path root);

  /// A name as an id: itself, if a directory may be called so.
  static std::string id_of(const std::string& name);

  std::optional<About> read(Kind kind, const std::string& id) const;
  void write(Kind kind, const std::string& id, const About& about) const;

  /// Makes the data, as a copy of what is at `from` if that is no empty path.
  void make(Kind kind,
            const std::string& id,
            const About& about,
            const std::filesystem::path& from) const;
  void remove(Kind kind, const std::string& id) const;
  std::vector<std::string> list(Kind kind) const;  ///< Sorted.
  std::filesystem::path data(Kind kind, const std::string& id) const;

  /// Nodes and how they have it: "rw" or "ro".
  About attached(const std::string& volume) const;
  void attach(const std::string& volume, const std::string& node, const std::string& how) const;
  void detach(const std::string& volume, const std::string& node) const;

private:
  std::filesystem::path path_of(Kind kind, const std::string& id) const;

  std::filesystem::path root_;
};

}  // namespace nomad::csi::sample

// VolumeRow: what a node has written down of one volume that one allocation uses, or has used and
// not given back; and where it is mounted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::workload {

/// What an allocation wants of a volume. The three numbers are the schema's, and only passed on.
struct MountSpec {
  std::string alloc;
  std::string ns;
  std::string volume;  ///< Its id; with "[index]" where each allocation has one of its own.
  std::string usage;   ///< "rw-file-system-single-node-writer"
  std::uint8_t mode = 0;
  std::uint8_t access_mode = 0;
  std::uint8_t attachment_mode = 0;

  friend bool operator==(const MountSpec&, const MountSpec&) = default;
};

struct VolumeRow {
  /// Written down before what it stands for begins.
  enum class Phase : std::uint8_t {
    claiming,   ///< Servers may have given it.
    mounting,   ///< The plugin may have staged or published it.
    leaving,    ///< The same; it is to be taken down.
    releasing,  ///< Nothing of it is mounted; servers may not know that.
  };

  MountSpec spec;
  Phase phase = Phase::claiming;
  // From mounting on.
  std::string plugin{};
  std::string external{};   ///< As the plugin calls it.
  std::string directory{};  ///< The plugin's directory on the host.
  bool stages = false;      ///< It is staged before it is published.
  bool touched = false;     ///< The plugin may have done something.

  std::string key() const { return spec.alloc + '/' + spec.volume; }

  friend bool operator==(const VolumeRow&, const VolumeRow&) = default;
};

/// Below `directory`: where it is staged, and where its allocation has it. The names of volumes and
/// plugins that are no names of files are written otherwise, each in one way.
std::string staging_path(const VolumeRow& row);
std::string target_path(const VolumeRow& row);

/// A directory's name for `name`, in `ns`: itself in the default namespace, if it can be one.
std::string file_name_of(std::string_view ns, std::string_view name);

/// The row as bytes of the client's database, and back; `corrupt` for what is none.
std::string write_row(const VolumeRow& row);
Result<VolumeRow> read_row(std::string_view bytes);

}  // namespace nomad::workload

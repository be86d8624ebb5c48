#include "runtime/storage/snapshot_archive.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sodium.h>

#include "runtime/base/base64.hpp"
#include "runtime/storage/snapshot_exchange.hpp"
#include "runtime/storage/snapshot_file.hpp"
#include "runtime/storage/tar_gz.hpp"

namespace nomad::storage {
namespace {

constexpr std::string_view meta_name = "meta.json";
constexpr std::string_view state_name = "state.bin";
constexpr std::string_view sums_name = "SHA256SUMS";
constexpr std::string_view program = "nomadctl";
constexpr std::size_t most_text_bytes = 64 * 1024;

class Sha256 {
public:
  Sha256() { crypto_hash_sha256_init(&state_); }

  void add(std::string_view bytes) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }

  std::string hex() {
    const auto digest = finish();
    std::string text(2 * digest.size() + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
    text.pop_back();
    return text;
  }

  std::string base64() {
    const auto digest = finish();
    return encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  }

private:
  std::array<unsigned char, crypto_hash_sha256_BYTES> finish() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state_, digest.data());
    return digest;
  }

  crypto_hash_sha256_state state_{};
};

/// Hands out a file piece by piece.
Result<> read_file(const std::string& path,
                   const std::function<Result<>(std::string_view)>& piece) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return errno_error("cannot open \"" + path + "\"", errno);
  std::string buffer(64 * 1024, '\0');
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0)
    NOMAD_TRY(piece(std::string_view{buffer}.substr(0, static_cast<std::size_t>(file.gcount()))));
  if (file.bad()) return Error{Errc::io, "cannot read \"" + path + "\""};
  return {};
}

std::string encode(const ArchiveMeta& meta) {
  return boost::json::serialize(boost::json::object{{"Program", std::string{program}},
                                                    {"Version", meta.version},
                                                    {"ID", meta.id},
                                                    {"Index", meta.index},
                                                    {"Term", meta.term},
                                                    {"Size", meta.size},
                                                    {"ClusterID", meta.cluster_id}})
         + '\n';
}

Result<ArchiveMeta> decode(const std::string& text) {
  boost::json::error_code failure;
  const auto tree = boost::json::parse(text, failure);
  if (failure || !tree.is_object())
    return Error{Errc::corrupt, "meta.json is no JSON object: the file is corrupted"};
  const auto& object = tree.get_object();
  const auto* made_by = object.if_contains("Program");
  if (made_by == nullptr || !made_by->is_string() || made_by->get_string() != program)
    return Error{Errc::corrupt, "the snapshot was not made by nomadctl: its state cannot be read"};
  const auto number = [&object](std::string_view name) -> std::uint64_t {
    const auto* value = object.if_contains({name.data(), name.size()});
    boost::json::error_code bad;
    return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>(bad) : 0;
  };
  const auto words = [&object](std::string_view name) -> std::string {
    const auto* value = object.if_contains({name.data(), name.size()});
    return value != nullptr && value->is_string() ? std::string{value->get_string()} : "";
  };
  ArchiveMeta meta{.id = words("ID"),
                   .index = number("Index"),
                   .term = number("Term"),
                   .version = static_cast<std::int64_t>(number("Version")),
                   .size = number("Size"),
                   .cluster_id = words("ClusterID")};
  if (meta.version > archive_version)
    return Error{Errc::corrupt,
                 fmt::format("the snapshot has format version {}, this server reads up to {}: it "
                             "was made by a newer version",
                             meta.version, archive_version)};
  if (meta.version < 1) return Error{Errc::corrupt, "meta.json names no format version"};
  return meta;
}

Result<> put_text(TarGzWriter& writer,
                  std::string_view name,
                  const std::string& content,
                  std::int64_t now) {
  NOMAD_TRY(writer.begin_file(name, content.size(), now / 1000));
  return writer.write(content);
}

/// What an archive was found to hold.
struct Found {
  std::optional<std::string> meta;
  std::optional<std::string> sums;
  std::optional<std::string> state_digest;
  std::uint64_t state_size = 0;
};

Result<std::string> read_text(TarGzReader& reader, const TarGzReader::Entry& entry) {
  if (entry.size > most_text_bytes)
    return Error{Errc::corrupt, fmt::format("{} is too large: the file is corrupted", entry.name)};
  std::string content;
  NOMAD_TRY(reader.read([&content](std::string_view piece) -> Result<> {
    content += piece;
    return {};
  }));
  return content;
}

Result<std::string> unpack_state(TarGzReader& reader, const std::string& path) {
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  Sha256 digest;
  NOMAD_TRY(reader.read([&](std::string_view piece) -> Result<> {
    digest.add(piece);
    file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (!file) return errno_error("cannot write \"" + path + "\"", errno);
    return {};
  }));
  file.close();
  if (!file) return errno_error("cannot write \"" + path + "\"", errno);
  return digest.hex();
}

Result<Found> unpack(const std::string& archive_path,
                     const std::string& snapshot_path,
                     std::uint64_t max_bytes) {
  auto reader = NOMAD_TRY(TarGzReader::open(archive_path));
  Found found;
  for (;;) {
    const auto entry = NOMAD_TRY(reader.next());
    if (!entry) return found;
    const auto& name = entry->name;
    if (name == state_name && !found.state_digest) {
      if (entry->size > max_bytes)
        return Error{Errc::too_large, fmt::format("the snapshot's state has {} bytes, more than {}",
                                                  entry->size, max_bytes)};
      found.state_size = entry->size;
      found.state_digest = NOMAD_TRY(unpack_state(reader, snapshot_path));
      continue;
    }
    auto* target = name == meta_name ? &found.meta : name == sums_name ? &found.sums : nullptr;
    if (target == nullptr || *target)
      return Error{Errc::corrupt, "the archive holds \"" + name + "\", which is no part of one"};
    *target = NOMAD_TRY(read_text(reader, *entry));
  }
}

Result<ArchiveMeta> verify(const Found& found, const std::string& snapshot_path) {
  if (!found.meta || !found.sums || !found.state_digest)
    return Error{Errc::corrupt, "the archive is incomplete"};
  auto meta = decode(*found.meta);  // first: of a newer version's archive only this is known
  if (!meta) return meta.error();
  Sha256 of_meta;
  of_meta.add(*found.meta);
  const auto expected
      = fmt::format("{}  {}\n{}  {}\n", of_meta.hex(), meta_name, *found.state_digest, state_name);
  if (*found.sums != expected || meta->size != found.state_size)
    return Error{Errc::corrupt, "a file's SHA-256 does not match: the archive is corrupted"};
  auto reader = NOMAD_TRY(SnapshotReader::open(snapshot_path));
  NOMAD_TRY(reader->verify());
  if (reader->meta().index != meta->index || reader->meta().term != meta->term)
    return Error{Errc::corrupt, "meta.json describes another snapshot"};
  return meta;
}

}  // namespace

Result<std::string> file_digest(const std::string& path) {
  Sha256 digest;
  NOMAD_TRY(read_file(path, [&digest](std::string_view piece) -> Result<> {
    digest.add(piece);
    return {};
  }));
  return "sha-256=" + digest.base64();
}

Result<ArchiveMeta> write_archive(const std::string& snapshot_path,
                                  const std::string& archive_path,
                                  std::int64_t now) {
  const auto snapshot = NOMAD_TRY(SnapshotReader::open(snapshot_path));
  const auto size = NOMAD_TRY(file_size(snapshot_path));
  const auto& of = snapshot->meta();
  const ArchiveMeta meta{.id = fmt::format("{}-{}-{}", of.term, of.index, now),
                         .index = of.index,
                         .term = of.term,
                         .size = size,
                         .cluster_id = of.configuration.cluster_id};
  auto writer = NOMAD_TRY(TarGzWriter::create(archive_path));
  const auto meta_text = encode(meta);
  NOMAD_TRY(put_text(writer, meta_name, meta_text, now));
  NOMAD_TRY(writer.begin_file(state_name, size, now / 1000));
  Sha256 of_meta, of_state;
  of_meta.add(meta_text);
  NOMAD_TRY(read_file(snapshot_path, [&](std::string_view piece) -> Result<> {
    of_state.add(piece);
    return writer.write(piece);
  }));
  NOMAD_TRY(put_text(
      writer, sums_name,
      fmt::format("{}  {}\n{}  {}\n", of_meta.hex(), meta_name, of_state.hex(), state_name), now));
  NOMAD_TRY(writer.finish());
  return meta;
}

Result<ArchiveMeta> read_archive(const std::string& archive_path,
                                 const std::string& snapshot_path,
                                 std::uint64_t max_bytes) {
  const auto remove = [&snapshot_path](const Error& reason) {
    std::error_code failure;  // what cannot be removed was never a snapshot by name
    std::filesystem::remove(snapshot_path, failure);
    return reason;
  };
  const auto found = unpack(archive_path, snapshot_path, max_bytes);
  if (!found) return remove(found.error());
  auto meta = verify(*found, snapshot_path);
  if (!meta) return remove(meta.error());
  return meta;
}

}  // namespace nomad::storage

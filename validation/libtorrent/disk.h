// A disk that takes no time. All blocks are zeros, so all pieces of one length have one hash.
#pragma once

#include "libtorrent/disk_buffer_holder.hpp"
#include "libtorrent/disk_interface.hpp"
#include "libtorrent/file_storage.hpp"
#include "libtorrent/hasher.hpp"
#include "libtorrent/io_context.hpp"
#include "libtorrent/peer_request.hpp"
#include "libtorrent/storage_defs.hpp"
#include "libtorrent/version.hpp"

#include <map>

namespace oracle {

inline lt::sha1_hash zeros(int size) {
  static std::map<int, lt::sha1_hash> known;
  auto const found = known.find(size);
  if (found != known.end()) return found->second;
  std::vector<char> const piece(std::size_t(size), '\0');
  return known[size] = lt::hasher(piece).final();
}

#if LIBTORRENT_VERSION_NUM >= 20100
auto const FULL_CHECK = lt::disk_status::need_full_check;
#else
auto const FULL_CHECK = lt::status_t::need_full_check;
#endif

struct Disk final : lt::disk_interface, lt::buffer_allocator_interface {
  Disk(lt::io_context &ios, bool whole) : m_ios(ios), m_whole(whole) {}

  void free_disk_buffer(char *buffer) override { delete[] buffer; }
#if LIBTORRENT_VERSION_NUM >= 20100
  void free_multiple_buffers(lt::span<char *> buffers) override {
    for (char *buffer : buffers) free_disk_buffer(buffer);
  }
#endif
  lt::storage_holder new_torrent(lt::storage_params const &p, std::shared_ptr<void> const &) override {
    m_files = &p.files;
    return lt::storage_holder(lt::storage_index_t{0}, *this);
  }
  void remove_torrent(lt::storage_index_t) override {}
  void async_read(lt::storage_index_t, lt::peer_request const &r,
                  std::function<void(lt::disk_buffer_holder, lt::storage_error const &)> h,
                  lt::disk_job_flags_t) override {
    post(m_ios, [this, r, h = std::move(h)] {
      char *block = new char[lt::default_block_size]();
#if LIBTORRENT_VERSION_NUM >= 20100
      h(lt::disk_buffer_holder(*this, block), lt::storage_error{});
#else
      h(lt::disk_buffer_holder(*this, block, r.length), lt::storage_error{});
#endif
    });
  }
  bool async_write(lt::storage_index_t, lt::peer_request const &, char const *, std::shared_ptr<lt::disk_observer>,
                   std::function<void(lt::storage_error const &)> h, lt::disk_job_flags_t) override {
    post(m_ios, [h = std::move(h)] { h(lt::storage_error{}); });
    return false;
  }
  void async_hash(lt::storage_index_t, lt::piece_index_t piece, lt::span<lt::sha256_hash>, lt::disk_job_flags_t,
                  std::function<void(lt::piece_index_t, lt::sha1_hash const &, lt::storage_error const &)> h) override {
    post(m_ios, [this, piece, h = std::move(h)] {
      h(piece, m_whole || m_checked ? zeros(m_files->piece_size(piece)) : lt::sha1_hash{}, lt::storage_error{});
    });
  }
  void async_hash2(lt::storage_index_t, lt::piece_index_t piece, int, lt::disk_job_flags_t,
                   std::function<void(lt::piece_index_t, lt::sha256_hash const &, lt::storage_error const &)> h) override {
    post(m_ios, [piece, h = std::move(h)] { h(piece, lt::sha256_hash{}, lt::storage_error{}); });
  }
  void async_move_storage(lt::storage_index_t, std::string p, lt::move_flags_t,
                          std::function<void(lt::status_t, std::string const &, lt::storage_error const &)> h) override {
    post(m_ios, [p, h = std::move(h)] { h({}, p, lt::storage_error{}); });
  }
  void async_release_files(lt::storage_index_t, std::function<void()> h) override {
    if (h) post(m_ios, std::move(h));
  }
  void async_check_files(lt::storage_index_t, lt::add_torrent_params const *,
                         lt::aux::vector<std::string, lt::file_index_t>,
                         std::function<void(lt::status_t, lt::storage_error const &)> h) override {
    post(m_ios, [this, h = std::move(h)] {
      m_checked = true;  // who has nothing is not asked for hashes before it has a piece
      h(m_whole ? FULL_CHECK : lt::status_t{}, lt::storage_error{});
    });
  }
  void async_stop_torrent(lt::storage_index_t, std::function<void()> h) override {
    if (h) post(m_ios, std::move(h));
  }
  void async_rename_file(lt::storage_index_t, lt::file_index_t index, std::string name,
                         std::function<void(std::string const &, lt::file_index_t, lt::storage_error const &)> h) override {
    post(m_ios, [=, h = std::move(h)] { h(name, index, lt::storage_error{}); });
  }
  void async_delete_files(lt::storage_index_t, lt::remove_flags_t,
                          std::function<void(lt::storage_error const &)> h) override {
    post(m_ios, [h = std::move(h)] { h(lt::storage_error{}); });
  }
  void async_set_file_priority(
      lt::storage_index_t, lt::aux::vector<lt::download_priority_t, lt::file_index_t> prio,
      std::function<void(lt::storage_error const &, lt::aux::vector<lt::download_priority_t, lt::file_index_t>)> h) override {
    post(m_ios, [prio = std::move(prio), h = std::move(h)] { h(lt::storage_error{}, prio); });
  }
  void async_clear_piece(lt::storage_index_t, lt::piece_index_t index, std::function<void(lt::piece_index_t)> h) override {
    post(m_ios, [index, h = std::move(h)] { h(index); });
  }
  void update_stats_counters(lt::counters &) const override {}
  std::vector<lt::open_file_state> get_status(lt::storage_index_t) const override { return {}; }
  void abort(bool) override {}
  void submit_jobs() override {}
  void settings_updated() override {}

 private:
  lt::io_context &m_ios;
  lt::file_storage const *m_files = nullptr;
  bool m_whole, m_checked = false;
};

}  // namespace oracle

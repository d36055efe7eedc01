// Shows the page's widgets by Jupyter's manager, and joins each to its twin in Python: the messages are those of
// Jupyter's protocol, one frame of the socket each.
import { modules } from "./modules.js";

const SILENT = "The explorer does not answer: it was stopped, or the network is down.";
const AGAIN = "Open it again as it was";
const VIEW = "application/vnd.jupyter.widget-view+json";

const bytes = (part) => (ArrayBuffer.isView(part) ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
  : new Uint8Array(part));

// A frame has the number of its parts, how long each is, its JSON, and its buffers.
function pack(message, buffers) {
  const parts = [new TextEncoder().encode(JSON.stringify(message)), ...buffers.map(bytes)];
  const head = new DataView(new ArrayBuffer(4 * (parts.length + 1)));
  [parts.length, ...parts.map((part) => part.length)].forEach((number, i) => head.setUint32(4 * i, number, true));
  return new Blob([head, ...parts]);
}

function unpack(frame) {
  const head = new DataView(frame), count = head.getUint32(0, true);
  let at = 4 * (count + 1);
  const parts = Array.from({ length: count }, (_, i) => {
    const length = head.getUint32(4 * (i + 1), true);
    at += length;
    return new DataView(frame, at - length, length);
  });
  return { ...JSON.parse(new TextDecoder().decode(parts[0])), buffers: parts.slice(1) };
}

// What a widget and its twin say to each other.
class Comm {
  target_name = "jupyter.widget";
  heard = () => {};

  constructor(comm_id, post) { Object.assign(this, { comm_id, post }); }
  open() { return ""; }
  close() { return ""; } // widgets end with the page
  send(data, callbacks, _metadata, buffers) { return this.post({ comm_id: this.comm_id, data }, callbacks, buffers ?? []); }
  on_msg(call) { this.heard = call; }
  on_close(call) { this.ended = call; }
}

// Say in a line at the top that the page is not joined to anything any more, and offer to begin again.
function tell(text) {
  const line = document.createElement("div"), again = document.createElement("button");
  line.className = "btflow-gone";
  line.setAttribute("role", "alert");
  again.textContent = AGAIN;
  again.onclick = () => location.reload();
  line.append(text + " ", again);
  document.body.prepend(line);
}

function show(place, loading) {
  const { HTMLManager } = modules["@jupyter-widgets/html-manager"]();
  const manager = new HTMLManager({ loader: async (name) => modules[name]().default ?? modules[name]() });
  const socket = new WebSocket(new URL("channel", location).href.replace(/^http/, "ws"));
  socket.binaryType = "arraybuffer";
  const comms = {}, waiting = {};
  let number = 0;

  const post = (content, callbacks, buffers) => {
    const id = String(number += 1);
    waiting[id] = callbacks;
    if (socket.readyState === WebSocket.OPEN) socket.send(pack({ header: { msg_id: id }, content }, buffers));
    return id;
  };

  const takes = {
    comm_open(message) {
      const comm = comms[message.content.comm_id] = new Comm(message.content.comm_id, post);
      return manager.handle_comm_open(comm, message);
    },
    comm_msg(message) { return comms[message.content.comm_id]?.heard(message); },
    comm_close(message) {
      comms[message.content.comm_id]?.ended?.(message);
      delete comms[message.content.comm_id];
    },
    status(message) { // the widget sends what has changed meanwhile
      waiting[message.parent_header.msg_id]?.iopub?.status?.(message);
      delete waiting[message.parent_header.msg_id];
    },
    async display_data(message) {
      const model = await manager.get_model(message.content.data[VIEW].model_id);
      await manager.display_view(manager.create_view(model), place);
      loading.remove();
    },
  };

  let before = Promise.resolve(); // a widget must be made before it can hear anything
  socket.onmessage = ({ data }) => {
    const message = unpack(data);
    before = before.then(() => takes[message.header.msg_type]?.(message)).catch(console.error);
  };
  socket.onclose = ({ reason }) => {
    loading.remove();
    tell(reason || SILENT);
  };
}

show(document.querySelector("main"), document.getElementById("loading"));

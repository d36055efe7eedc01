// Says when the page's process, or the server, is gone: nothing on the page answers then.
{
  const { baseUrl, kernelId } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
  const GONE = "The process behind this page has ended: it was idle for long, needed too much memory, or was killed.";
  const SILENT = "The explorer does not answer: it was stopped, or the network is down.";
  const line = document.createElement("div");
  line.className = "btflow-gone";
  line.setAttribute("role", "alert");
  const again = document.createElement("button");
  again.textContent = "Open it again as it was";
  again.onclick = () => location.reload();
  const show = (text) => {
    if (line.textContent.startsWith(text || " ")) return;
    line.replaceChildren(...(text ? [text + " ", again] : []));
    if (text) document.body.prepend(line); else line.remove();
  };
  const look = async () => {
    let text = "";
    try {
      const answer = await fetch(`${baseUrl}api/kernels/${kernelId}`, { cache: "no-store" });
      if (!answer.ok) text = GONE;
    } catch { text = SILENT; }
    show(text);
    setTimeout(look, text === GONE ? 60000 : 3000);
  };
  if (kernelId) setTimeout(look, 3000);
}

/** A picture out of a file's bytes: of a trace that carries its picture, or of a picture's own data. Nothing is fetched. */

const STORY = "workbench-storyboard", TRACE = "workbench-trace", VERSION = 1;
const MOST = 256e6; // bytes, packed or not
const command = (name) => `workbench show ${/^[\w.-]+$/.test(name) ? name : "trace.json"} -o picture.json`;

/** An error whose message is for the reader. */
export class Unreadable extends Error {}

async function unpacked(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader(), parts = [];
  for (let read = 0, part; !(part = await reader.read()).done; ) {
    parts.push(part.value);
    read += part.value.length;
    if (read > MOST) {
      reader.cancel();
      throw new Unreadable("it is too large");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
const isPacked = ([first, second]) => first === 0x1f && second === 0x8b;
const fromBase64 = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
async function parsed(bytes) {
  const whole = isPacked(bytes) ? await unpacked(bytes) : bytes;
  return JSON.parse(new TextDecoder().decode(whole));
}
const isStory = (told) => told?.format === STORY && told.version === VERSION && Array.isArray(told.boxes) && Array.isArray(told.arrows);

/**
 * The story in a file of this name; an Unreadable says in a sentence why there is none.
 * @param {string} name @param {Uint8Array} bytes
 */
export async function opened(name, bytes) {
  const how = `Run: ${command(name)}`, called = name.length > 60 ? `${name.slice(0, 59)}…` : name;
  const refuse = (why) => new Unreadable(`Can't open ${called}: ${why}.`);
  let told, story;
  if (bytes.length > MOST) throw refuse("it is too large");
  try {
    told = await parsed(bytes);
  } catch (error) {
    throw refuse(error instanceof Unreadable ? error.message : "it isn't a trace or a picture saved by the workbench");
  }
  if (isStory(told)) return told;
  if (told?.format === STORY) throw refuse("its picture was saved by another version of the workbench; save it again");
  if (told?.format !== TRACE) throw refuse("it isn't a trace or a picture saved by the workbench");
  if (told.picture === undefined) throw refuse(`it has a trace without its picture, which Python draws. ${how}`);
  try {
    story = await parsed(fromBase64(told.picture.story));
  } catch {
    throw refuse(`its picture is damaged. ${how}`);
  }
  if (!isStory(story)) throw refuse(`its picture was saved by another version of the workbench. ${how}`);
  return story;
}
